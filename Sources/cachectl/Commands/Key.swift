#if Tools
import ArgumentParser
import Diamond
import DiamondInspection
import Foundation

struct Key: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints a request's canonical form and the key it makes.",
        discussion: """
            Two requests with one key are the same to the cache; given two, it prints where they differ and ends with 1. \
            Credentials appear as digests keyed with the store's secret: with another store they, and the key, are others. \
            The request is keyed as send sends it, in the language that the environment asks for.
            """
    )

    @OptionGroup var store: StoreOptions
    @OptionGroup var options: RequestOptions

    @Argument(help: ArgumentHelp("Another request, to be compared.", valueName: "OTHER"))
    var other: String?

    @Flag(help: "Tells the rule behind each line, and what is in no line.")
    var explain = false

    func validate() throws {
        guard !explain || other == nil else { throw ValidationError("--explain is for one request: leave OTHER out") }
    }

    func run() async throws {
        let request = try await resolve(try options.request())
        let rules = try rules()
        if let other { return try compare(request, try await resolve(try options.request(other)), rules) }
        do throws(RequestError) {
            if explain { return show(try CanonicalForm.explanation(of: request, rules: rules)) }
            show(try CanonicalForm(of: request, rules: rules))
        } catch {
            throw Failure.report(error)
        }
    }

    private func resolve(_ request: Request) async throws -> Request {
        let configuration = try store.configuration()
        do throws(ConnectionError) {
            return try await configuration.resolve(request)
        } catch {
            throw Failure.report(error)
        }
    }

    private func rules() throws -> KeyRules {
        let seal = try store.sealing.seal()
        let cache: Cache
        do throws(CacheError) {
            cache = try Cache(store.location, seal: seal, create: false)
        } catch {
            // A store that is not there yet has no secret; nothing is made for looking at a key.
            guard error.code == .noStore else { throw Failure.report(error) }
            return KeyRules()
        }
        // Without the store's secret, digests of credentials mean nothing.
        if let complaint = try store.sealing.complaint(of: cache) { Output.note("cachectl: \(complaint)") }
        return cache.rules
    }

    private func show(_ form: CanonicalForm) {
        guard store.json else { return Output.lines(form.text + "key \(form.key)") }
        Output.json(["canonicalForm": form.text, "key": form.key.description])
    }

    private func show(_ explanation: CanonicalForm.Explanation) {
        let lines = explanation.lines.map { ["line": $0.text, "rule": $0.rule] }
        let omissions = explanation.omissions.map { ["omitted": $0.what, "reason": $0.reason] }
        guard !store.json else { return Output.json(["lines": lines, "omissions": omissions]) }
        for line in explanation.lines { Output.lines("\(line.text)\n    \(line.rule)") }
        for omission in explanation.omissions { Output.lines("(\(omission.what))\n    \(omission.reason)") }
    }
}

extension Key {
    /// Lines that only one of two forms has, `-` for the first and `+` for the second.
    private func compare(_ one: Request, _ other: Request, _ rules: KeyRules) throws {
        let forms: (CanonicalForm, CanonicalForm)
        do throws(RequestError) {
            forms = try (CanonicalForm(of: one, rules: rules), CanonicalForm(of: other, rules: rules))
        } catch {
            throw Failure.report(error)
        }
        let lines = (forms.0.lines, forms.1.lines)
        let difference = lines.1.difference(from: lines.0)
        let removed = difference.removals.map(\.line), added = difference.insertions.map(\.line)
        if store.json {
            let keys = [forms.0, forms.1].map(\.key.description)
            Output.json(Comparison(keys: keys, onlyFirst: removed, onlySecond: added))
        } else {
            for line in removed { Output.lines("- \(line)") }
            for line in added { Output.lines("+ \(line)") }
            if difference.isEmpty { Output.line("the same: key \(forms.0.key)") }
        }
        if !difference.isEmpty { throw Failure.different }
    }
}

/// The form of `key --json` for two requests.
private struct Comparison: Encodable {
    var keys: [String]
    var onlyFirst: [String]
    var onlySecond: [String]
}

extension CanonicalForm {
    fileprivate var lines: [String] { text.split(separator: "\n").map(String.init) }
}

extension CollectionDifference<String>.Change {
    fileprivate var line: String {
        switch self {
        case .insert(_, let line, _), .remove(_, let line, _): line
        }
    }
}
#endif
