#if Tools
import ArgumentParser
import Diamond
import Foundation
import HTTPTypes

struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Shows one entry: its request, its headers, its body.")

    @OptionGroup var store: StoreOptions

    @Argument(help: ArgumentHelp("The key, or enough of its beginning.", valueName: "KEY"))
    var key: String

    @Flag(help: "Print the body alone.")
    var body = false

    @Flag(help: "With --body: byte for byte on a terminal, too, which may act on what is in it.")
    var raw = false

    func validate() throws {
        guard body || !raw else { throw ValidationError("--raw is about the body: give --body, too") }
        guard !body || !store.json else { throw ValidationError("--body prints no JSON: leave one of them out") }
    }

    func run() throws {
        let cache = try store.openCache()
        let listing = try KeyArgument(key).find(in: cache)
        if listing.isLocked {
            if !body { showLocked(EntryRow(listing, now: Date().milliseconds)) }
            let complaint = try store.sealing.complaintOfEntries(in: cache)
            throw Failure.report(Failure.sealed, complaint ?? "the entry cannot be opened")
        }
        guard !body || !listing.isPartial else {
            throw Failure.report(Failure.damaged, "the body of \(key) is not at its end: send its request again")
        }
        let form: String
        let found: StoredResponse?
        let complaint: String
        do throws(CacheError) {
            form = try cache.canonicalForm(of: listing.key) ?? ""
            let request = Array(form.utf8)
            found =
                try listing.isPartial
                ? cache.partialBody(listing.key, request: request)?.stored
                : cache.findOnDisk(listing.key, request: request)
            complaint = found == nil ? try self.complaint(of: listing, request, in: cache) : ""
        } catch {
            throw Failure.report(error)
        }
        guard let found else { throw Failure.report(Failure.damaged, complaint) }
        try show(listing, form, found)
    }

    /// Why an entry that is there cannot be shown.
    private func complaint(
        of listing: CacheListing, _ request: [UInt8], in cache: Cache
    ) throws(CacheError) -> String {
        guard !listing.isPartial else {
            let reason = "the part \(key) is of no use: it is damaged, or sealed with an older key, or is gone"
            return "\(reason): send its request again"
        }
        let obstacle = try cache.obstacle(to: listing.key, request: request)
        return obstacle ?? "the entry \(key) is damaged: send its request again"
    }

    private func show(_ listing: CacheListing, _ form: String, _ stored: StoredResponse) throws {
        guard !body else { return try Output.body(stored.body, isRaw: raw) }
        let row = EntryRow(listing, now: Date().milliseconds)
        let headers = stored.headers.map { [$0.name.rawName, SecretNames.masked($0)] }
        guard !store.json else {
            let text = String(validating: stored.body, as: UTF8.self)
            let base64 = text == nil ? stored.body.base64EncodedString() : nil
            let entry = ShownEntry(entry: row, canonicalForm: form, headers: headers, body: text, base64: base64)
            return Output.json(entry)
        }
        showClear(row)
        Output.line("body        \(row.cells[3]) (print it with --body)")
        Output.lines("\nREQUEST\n\(form)\nRESPONSE\nstatus \(row.status)")
        for header in headers { Output.line("\(header[0]): \(header[1])") }
    }
}

extension Show {
    private func showLocked(_ row: EntryRow) {
        if store.json { Output.json(ShownEntry(entry: row)) } else { showClear(row) }
    }

    /// Shows the parts of a sealed row that can be read without its key, too.
    private func showClear(_ row: EntryRow) {
        Output.line("key         \(row.key)")
        Output.line("url         \(row.url)")
        let pinned = row.pinned ? ", pinned" : ""
        Output.line("stored      \(row.storedAt), age \(row.cells[4]), fresh \(row.cells[5])\(pinned)")
    }
}

/// The form of `show --json`.
private struct ShownEntry: Encodable {
    var entry: EntryRow
    /// Absent where the entry is locked, as all that follows.
    var canonicalForm: String?
    var headers: [[String]]?
    /// The body as text, or in base64 where it is not UTF-8.
    var body: String?
    var base64: String?
}
#endif
