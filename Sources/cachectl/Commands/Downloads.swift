#if Tools
import ArgumentParser
import Diamond
import Foundation

struct Downloads: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "downloads",
        abstract: "Lists and removes the received parts of interrupted downloads.",
        discussion: """
            A part is a hidden file in the directory of the download's target. The next download of the same request \
            to the same path continues it, for a week.

            EXAMPLE
              cachectl downloads
            """,
        subcommands: [DownloadsList.self, DownloadsRemove.self],
        defaultSubcommand: DownloadsList.self
    )
}

struct DownloadsList: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the received parts of downloads, the oldest first.",
        discussion: """
            BYTES is the recorded size of the part and, if known, of the whole file. AGE is the time since it was \
            recorded: a running download records every 4 MiB.

            EXAMPLE
              cachectl downloads list --json
            """
    )

    @OptionGroup var store: StoreOptions

    func run() throws {
        let now = WallTime.now
        let cache = try store.openFile(because: "a server keeps no parts of downloads")
        show(try cache.downloads(), now: now)
    }

    private func show(_ downloads: [KeptDownload], now: WallTime) {
        guard !store.json else { return Output.json(downloads.map(\.form)) }
        guard !downloads.isEmpty else { return Output.note("no downloads") }
        Output.table(
            Table(
                ["KEY": .left, "BYTES": .right, "AGE": .right, "FILE": .left, "URL": .left],
                rows: downloads.map { $0.cells(now: now) }))
    }
}

extension KeptDownload {
    fileprivate var form: JSONObject {
        [
            "key": key.description, "url": url, "file": target, "part": path, "bytes": size, "length": completeSize,
            "writtenAt": Quantity.instant(writtenAt),
        ]
    }

    fileprivate func cells(now: WallTime) -> [String] {
        let whole = completeSize.map { " of \(Quantity.bytes(Int64($0)))" } ?? ""
        return [
            String(key.description.prefix(12)), Quantity.bytes(Int64(size)) + whole,
            Quantity.age(now.milliseconds(since: writtenAt)), target, url,
        ]
    }
}

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
        let count = dryRun ? chosen.count : try await cache.remove(chosen)
        Output.result(
            [dryRun ? "wouldRemove" : "removed": count],
            or: "\(dryRun ? "would remove" : "removed") \(Quantity.downloads(count))", isJSON: store.json)
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
}

extension RequestKey {
    fileprivate func begins(with digits: String) -> Bool { description.hasPrefix(digits.lowercased()) }
}
#endif
