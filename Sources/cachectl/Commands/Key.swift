#if Tools
import ArgumentParser
import Diamond
import DiamondInspection
import Foundation

struct Key: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Prints the canonical form of a request and its cache key, or compares two requests.",
        discussion: """
            Requests with the same key share a cache entry. With two requests, prints the lines that differ, and exits \
            with 1 if there are any. Credentials are printed as digests. Each store has its own secret for them, so \
            digests and keys differ between stores. The request is resolved as send resolves it, including the \
            language of the environment.

            EXAMPLE
              cachectl key 'https://api.example.com/items?page=2'
            """
    )

    @OptionGroup var store: StoreOptions
    @OptionGroup var options: RequestOptions

    @Argument(help: ArgumentHelp("A second request to compare.", valueName: "OTHER"), completion: .file())
    var other: String?

    @Flag(help: "Print the rule for each line, and the parts of the request that do not count.")
    var explain = false

    func validate() throws {
        guard !explain || other == nil else { throw ValidationError("--explain is for one request: leave OTHER out") }
    }

    func run() async throws {
        let request = try await resolve(try options.request())
        let rules = try rules()
        if let other {
            return try compare(request, with: try await resolve(try options.request(other)), rules: rules)
        }
        if explain { return show(try CanonicalForm.explanation(of: request, rules: rules)) }
        show(try CanonicalForm(of: request, rules: rules))
    }

    private func resolve(_ request: Request) async throws -> Request {
        try await store.configuration().resolve(request)
    }

    private func rules() throws -> KeyRules {
        let seal = try store.sealing.seal()
        let server = try store.chosenPlace().server
        let cache: Cache
        do {
            cache = try server?.cache(seal) ?? Cache(store.location, seal: seal, create: false)
        } catch let error as CacheError {
            // A store that does not exist has no secret. Printing a key creates none.
            guard error.code == .noStore else { throw error }
            return KeyRules()
        }
        // The digests of credentials are wrong without the store's secret.
        if let problem = try store.sealing.problem(of: cache) { Output.note("cachectl: \(problem)") }
        return cache.rules
    }

    private func show(_ form: CanonicalForm) {
        guard store.json else { return Output.lines(form.text + "key \(form.key)") }
        Output.json(["canonicalForm": form.text, "key": form.key.description])
    }

    private func show(_ explanation: CanonicalForm.Explanation) {
        let lines = explanation.lines.map { ["line": $0.text, "rule": $0.rule] }
        let omissions = explanation.omissions.map { ["omitted": $0.part, "reason": $0.reason] }
        guard !store.json else { return Output.json(["lines": lines, "omissions": omissions]) }
        for line in explanation.lines { Output.lines("\(line.text)\n    \(line.rule)") }
        for omission in explanation.omissions { Output.lines("(\(omission.part))\n    \(omission.reason)") }
    }
}

extension Key {
    /// Prints the lines that only one of two canonical forms has: `-` for the first, `+` for the second.
    private func compare(_ one: Request, with other: Request, rules: KeyRules) throws {
        let forms = try (CanonicalForm(of: one, rules: rules), CanonicalForm(of: other, rules: rules))
        let lines = (forms.0.lines, forms.1.lines)
        let difference = lines.1.difference(from: lines.0)
        let removed = difference.removals.map(\.line), added = difference.insertions.map(\.line)
        if store.json {
            let keys = [forms.0, forms.1].map(\.key.description)
            Output.json(["keys": keys, "onlyFirst": removed, "onlySecond": added])
        } else {
            for line in removed { Output.lines("- \(line)") }
            for line in added { Output.lines("+ \(line)") }
            if difference.isEmpty { Output.line("the same: key \(forms.0.key)") }
        }
        if !difference.isEmpty { throw Failure.different }
    }
}

extension CanonicalForm {
    fileprivate var lines: [String] { text.split(separator: "\n").map(String.init) }
}
#endif
