#if Tools
import ArgumentParser
import Diamond
import Foundation

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
        let cache = try store.openCache()
        show(try cache.downloads().map { DownloadLine($0, now: now) })
    }

    private func show(_ lines: [DownloadLine]) {
        guard !store.json else { return Output.json(lines) }
        guard !lines.isEmpty else { return Output.note("no downloads") }
        var table = Table(
            header: ["KEY", "BYTES", "AGE", "FILE", "URL"], alignments: [.left, .right, .right, .left, .left])
        table.rows = lines.map(\.cells)
        Output.table(table)
    }
}

/// A download, as an object of `downloads --json` and as a row of the table.
private struct DownloadLine: Encodable {
    var key: String
    var url: String
    /// The path of the complete file.
    var file: String
    /// The path of the part file. Absent if the row has no valid one.
    var part: String?
    var bytes: Int
    /// The length of the complete file. Absent if it is unknown.
    var length: Int?
    var writtenAt: String
    private var milliseconds: Int64

    init(_ download: KeptDownload, now: WallTime) {
        key = download.key.description
        url = download.url
        file = download.target
        part = download.path
        bytes = download.size
        length = download.completeSize
        writtenAt = Quantity.instant(download.writtenAt)
        milliseconds = now.milliseconds(since: download.writtenAt)
    }

    enum CodingKeys: CodingKey { case key, url, file, part, bytes, length, writtenAt }

    var cells: [String] {
        let whole = length.map { " of \(Quantity.bytes(Int64($0)))" } ?? ""
        return [
            String(key.prefix(12)), Quantity.bytes(Int64(bytes)) + whole, Quantity.age(milliseconds), file, url,
        ]
    }
}
#endif
