#if Tools
import ArgumentParser
import Diamond
import Foundation

struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Prints the differences of two entries: - is only in the first, + only in the second.",
        discussion: """
            Compares the lines of the requests, the status and fields of the responses, and the lines of the bodies, \
            with their numbers. JSON is indented first. Exits with 1 if the entries differ.

            EXAMPLE
              cachectl diff 4f2a 9b07
            """
    )

    @OptionGroup var store: StoreOptions

    @Argument(help: ArgumentHelp("The key of the first entry, or a unique prefix of it.", valueName: "KEY"))
    var key: String

    @Argument(help: ArgumentHelp("The key of the second entry, or a unique prefix of it.", valueName: "OTHER"))
    var other: String

    func run() throws {
        let cache = try store.openCache()
        try store.refuseLocked(cache)
        let (one, two) = (try EntryLines(of: key, in: cache), try EntryLines(of: other, in: cache))
        let parts: [(name: String, difference: LineDifference)] = [
            ("request", LineDifference(from: one.request, to: two.request)),
            ("response", LineDifference(from: one.response, to: two.response)),
            ("body", LineDifference(from: one.body, to: two.body)),
        ]
        let isSame = parts.allSatisfy(\.difference.isEmpty)
        show(parts, isSame: isSame)
        if !isSame { throw Failure.different }
    }

    private func show(_ parts: [(name: String, difference: LineDifference)], isSame: Bool) {
        guard !store.json else {
            return Output.json(Dictionary(uniqueKeysWithValues: parts.map { ($0.name, $0.difference.form) }))
        }
        for (name, difference) in parts where !difference.isEmpty {
            Output.line(name.uppercased())
            for line in difference.lines(isNumbered: name == "body") { Output.line(line) }
        }
        if isSame { Output.line("the same") }
    }
}

/// An entry as lines.
private struct EntryLines {
    let request: [String]
    let response: [String]
    let body: [String]

    init(of key: String, in cache: Cache) throws {
        let listing = try KeyArgument(key).find(in: cache)
        let form = try cache.canonicalForm(of: listing.key) ?? ""
        guard !listing.isPartial, let stored = try cache.findOnDisk(listing.key, request: Array(form.utf8)) else {
            throw Failure.report(
                Failure.damaged, "the entry \(key) cannot be read, or is a part: see 'cachectl show \(key)'")
        }
        request = form.split(separator: "\n").map(String.init)
        response =
            ["status \(stored.status)"]
            + stored.headers.map { "\($0.name.rawName): \(SecretNames.masked($0))" }
        body = Self.lines(of: stored.body)
    }

    private static func lines(of body: Data) -> [String] {
        guard let text = String(validating: body, as: UTF8.self) else {
            let hash = String(body.withUnsafeBytes(XXH3.hash), radix: 16)
            return ["\(body.count) bytes, XXH3 \(hash)"]
        }
        return (JSONLayout.indented(text) ?? text).split(whereSeparator: \.isNewline).map(String.init)
    }
}
#endif
