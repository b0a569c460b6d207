#if Tools
import ArgumentParser
import Diamond
import Foundation
import HTTPTypes

struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Prints one entry: its request, response headers and body size, or only its body.",
        discussion: """
            Of an image (PNG, GIF, JPEG, WebP), also prints the size in pixels. On a terminal, --body indents JSON.

            EXAMPLE
              cachectl show 4f2a --output photo.jpg
            """
    )

    @OptionGroup var store: StoreOptions

    @Argument(help: ArgumentHelp("The key, or a unique prefix of it.", valueName: "KEY"))
    var key: String

    @Flag(help: "Print only the body.")
    var body = false

    @Option(
        help: ArgumentHelp("Write the body to a file, and replace the file if there is one.", valueName: "FILE"),
        completion: .file())
    var output: String?

    @Flag(help: "With --body: print the body as it is when the output is a terminal.")
    var raw = false

    private var isBodyOnly: Bool { body || output != nil }

    func validate() throws {
        guard output != "" else { throw ValidationError("--output is empty: name a file, or give --body") }
        guard output == nil || !body && !store.json else {
            throw ValidationError("--output writes the body to a file: leave --body and --json out")
        }
        guard body || !raw else { throw ValidationError("--raw needs --body: give both") }
        guard !body || !store.json else { throw ValidationError("--body prints no JSON: leave --body or --json out") }
    }

    func run() throws {
        let cache = try store.openCache()
        let listing = try KeyArgument(key).find(in: cache)
        if listing.isLocked {
            if !isBodyOnly { showLocked(EntryRow(listing, url: listing.url, now: .now)) }
            let problem = try store.sealing.problemOfEntries(in: cache)
            throw Failure.report(Failure.sealed, problem ?? "the entry cannot be opened")
        }
        guard !isBodyOnly || !listing.isPartial else {
            throw Failure.report(Failure.damaged, "the body of \(key) is incomplete: send its request again")
        }
        let form = try cache.canonicalForm(of: listing.key) ?? ""
        let request = Array(form.utf8)
        let found =
            try listing.isPartial
            ? cache.partialBody(listing.key, request: request)?.stored
            : cache.findOnDisk(listing.key, request: request)
        guard let found else {
            throw Failure.report(Failure.damaged, try problem(of: listing, request: request, in: cache))
        }
        try show(listing, canonicalForm: form, stored: found)
    }

    /// Returns why an existing entry cannot be shown.
    private func problem(
        of listing: CacheListing, request: [UInt8], in cache: Cache
    ) throws(CacheError) -> String {
        guard !listing.isPartial else {
            let reason = "the partial entry \(key) cannot be read: it is damaged, sealed with an older key, or removed"
            return "\(reason): send its request again"
        }
        let obstacle = try cache.lockReason(of: listing.key, request: request)
        return obstacle ?? "the entry \(key) is damaged: send its request again"
    }

    private func show(_ listing: CacheListing, canonicalForm form: String, stored: StoredResponse) throws {
        if let output { return try write(stored.body, to: output) }
        guard !body else { return try Output.body(stored.body, isRaw: raw) }
        let image = ImageSize(stored.body)
        let url = ForwardedURL(inForm: form)?.text ?? listing.url
        let row = EntryRow(listing, url: url, now: .now)
        let headers = stored.headers.map { [$0.name.rawName, SecretNames.masked($0)] }
        guard !store.json else {
            let text = String(validating: stored.body, as: UTF8.self)
            let base64 = text == nil ? stored.body.base64EncodedString() : nil
            let entry: JSONObject = [
                "entry": row.form, "canonicalForm": form, "headers": headers, "body": text, "base64": base64,
                "image": image?.form,
            ]
            return Output.json(entry)
        }
        showClear(row)
        Output.line("body        \(row.size)\(image.map { ", \($0.text)" } ?? "") (print it with --body)")
        Output.lines("\nREQUEST\n\(form)\nRESPONSE\nstatus \(listing.status)")
        for header in headers { Output.line("\(header[0]): \(header[1])") }
    }

    private func write(_ body: Data, to path: String) throws {
        do { try body.write(to: URL(filePath: path), options: .atomic) } catch {
            throw Failure.report(Failure.noOutput, "\(path) cannot be written: name a file in a writable directory")
        }
        Output.note("wrote \(Quantity.bytes(Int64(body.count))) to \(path)")
    }
}

extension Show {
    private func showLocked(_ row: EntryRow) {
        if store.json { Output.json(["entry": row.form] as JSONObject) } else { showClear(row) }
    }

    /// Prints the parts of an entry that are readable without the key of a sealed store.
    private func showClear(_ row: EntryRow) {
        Output.line("key         \(row.key)")
        Output.line("url         \(row.url)")
        let pinned = row.isPinned ? ", pinned" : ""
        Output.line("stored      \(row.storedAt), age \(row.age), fresh \(row.fresh)\(pinned)")
    }
}
#endif
