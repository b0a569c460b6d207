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
#endif
