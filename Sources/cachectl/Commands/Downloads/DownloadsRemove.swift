#if Tools
import ArgumentParser
import Diamond

struct DownloadsRemove: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rm",
        abstract: "Removes received parts, so that their downloads start from the beginning.",
        discussion: """
            A running download keeps its part until it ends, and records no more.

            EXAMPLE
              cachectl downloads rm 4f2a
            """
    )

    @OptionGroup var store: StoreOptions

    @Argument(help: ArgumentHelp("The keys, or unique prefixes of them.", valueName: "KEY"))
    var keys: [String] = []

    @Flag(help: "All downloads.")
    var all = false

    @Flag(help: "Print how many would be removed, and remove nothing.")
    var dryRun = false

    func validate() throws {
        guard all == keys.isEmpty else { throw ValidationError("say which downloads: give KEY, or --all") }
        guard !keys.contains("") else { throw ValidationError("an empty key names nothing: give a key, or --all") }
    }

    func run() async throws {
        let cache = try store.openFile(because: "a server keeps no parts of downloads")
        let chosen = try chosen(in: cache)
        guard !dryRun else { return show(chosen.count) }
        show(try await cache.remove(chosen))
    }

    private func chosen(in cache: Cache) throws -> [KeptDownload] {
        let known = try cache.downloads()
        guard !all else { return known }
        for digits in keys { try check(digits, in: known) }
        return known.filter { download in keys.contains { download.key.begins(with: $0) } }
    }

    /// Throws exit code 1 unless exactly one key begins with the digits. A key may have several downloads, each to
    /// another path.
    private func check(_ digits: String, in known: [KeptDownload]) throws {
        let count = Set(known.lazy.map(\.key).filter { $0.begins(with: digits) }).count
        guard count != 1 else { return }
        let problem = count == 0 ? "no download's key begins" : "several keys begin"
        let remedy = count == 0 ? "look it up with 'cachectl downloads'" : "give more of it"
        throw Failure.report(Failure.nothingFound, "\(problem) with '\(digits)': \(remedy)")
    }

    private func show(_ count: Int) {
        guard !store.json else { return Output.json([dryRun ? "wouldRemove" : "removed": count]) }
        Output.line("\(dryRun ? "would remove" : "removed") \(Quantity.downloads(count))")
    }
}

extension RequestKey {
    fileprivate func begins(with digits: String) -> Bool { description.hasPrefix(digits.lowercased()) }
}
#endif
