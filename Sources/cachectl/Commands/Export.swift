#if Tools
import ArgumentParser
import Diamond

struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Prints entries as an HTTP archive (HAR 1.2), or copies them into a file for another store.",
        discussion: """
            --har is for browsers and other tools. Masks secrets as •••: credentials, cookies, and each field, \
            parameter and member of JSON whose name says that it is secret. --with-secrets prints the response fields \
            and bodies as they are stored. The store has no credentials of requests. A body that is not UTF-8 is in \
            base64. Leaves out parts of bodies.

            --archive copies entries with their times, variants, tags, pins and checksums, for 'cachectl import'. The \
            file is in clear, with the secrets of responses, and only its owner can read it. It replaces an older one \
            when it is complete. A sealed store is copied only with --with-secrets. Its entries with tags are left \
            out, because it has only their digests.

            EXAMPLE
              cachectl export --har --match /cities/ > cities.har
            """
    )

    @OptionGroup var store: StoreOptions

    @Flag(help: "Print HAR 1.2.")
    var har = false

    @Option(help: ArgumentHelp("Write an archive for 'cachectl import'.", valueName: "FILE"), completion: .file())
    var archive: String?

    @Flag(help: "Do not mask the secrets of responses. For --archive: copy a sealed store in clear.")
    var withSecrets = false

    @Option(help: ArgumentHelp("Only entries of a host, whatever the scheme and port.", valueName: "HOST"))
    var host: String?

    @Flag(help: .quiet)
    var quiet = false

    @OptionGroup var filter: EntryFilterOptions

    func validate() throws {
        guard har != (archive != nil), archive != "" else {
            throw ValidationError("say which format: give --har, or --archive with a file")
        }
    }

    func run() throws {
        let cache = try store.openCache()
        if filter.needsKey || host != nil { try store.refuseLocked(cache) }
        let count = try archive.map { try write(cache, to: $0) } ?? print(cache)
        if let archive {
            Output.result(
                ["archived": count.exported, "leftOut": count.leftOut],
                or: "archived \(Quantity.entries(count.exported)) in \(archive)", isJSON: store.json)
        }
        if count.leftOut > 0 {
            let others = archive == nil ? "" : ", are superseded variants, or are sealed and have tags"
            Output.note("\(Quantity.entries(count.leftOut)) left out: parts, or they cannot be read\(others)")
        }
        if count.hasLocked { try store.refuseLockedEntries(in: cache) }
    }

    private static let pageSize = 1000
    /// A sealed store opens all its entries for each page in the order of URLs.
    private static let sealedPageSize = 1_000_000

    private struct Count {
        var exported = 0
        var leftOut = 0
        var hasLocked = false
    }

    /// Passes each entry to a closure that exports it, and returns whether it could.
    private func forEachListing(in cache: Cache, _ export: (CacheListing) throws -> Bool) throws -> Count {
        let now = WallTime.now
        var count = Count()
        var cursor: CacheCursor?
        let total = filter.isEmpty && host == nil ? (try? cache.totals())?.entries : nil
        let progress = Progress("entries", of: total, isQuiet: quiet || store.json, endsAtSignal: archive == nil)
        defer { progress.end() }
        let limit = try cache.keyIDs().isEmpty ? Self.pageSize : Self.sealedPageSize
        while true {
            // A response that is confirmed meanwhile keeps its place in the order of URLs.
            let page = try filter.list(
                host.map { [.host($0)] } ?? [], in: cache, by: .url, after: cursor, limit: limit, at: now)
            guard let last = page.last else { return count }
            for listing in page {
                count.hasLocked = count.hasLocked || listing.isLocked
                if try export(listing) { count.exported += 1 } else { count.leftOut += 1 }
                Progress.update(count.exported)
            }
            cursor = CacheCursor(after: last, by: .url)
        }
    }

    // MARK: Archives

    private func write(_ cache: Cache, to path: String) throws -> Count {
        guard try withSecrets || cache.keyIDs().isEmpty else {
            throw Failure.report(
                Failure.usage, "the store is sealed, and an archive is in clear: give --with-secrets to copy it")
        }
        try store.refuseLocked(cache)
        let writer = try ArchiveWriter(path, ArchiveHeader(.cache, secret: cache.secretID))
        let count = try forEachListing(in: cache) { listing in
            try cache.archived(listing).map { try writer.add($0) } ?? false
        }
        try writer.finish()
        return count
    }

    // MARK: HAR

    private func print(_ cache: Cache) throws -> Count {
        Output.line(
            "{\"log\":{\"version\":\"1.2\",\"creator\":\(Output.text(of: Self.creator)),\"pages\":[],\"entries\":[")
        var isFirst = true
        let count = try forEachListing(in: cache) { listing in
            guard let exchange = try exchange(of: listing, in: cache) else { return false }
            Output.line((isFirst ? "" : ",") + Output.text(of: exchange.form))
            isFirst = false
            return true
        }
        Output.line("]}}")
        return count
    }

    static var creator: JSONObject { ["name": "cachectl", "version": Cachectl.configuration.version] }

    private func exchange(of listing: CacheListing, in cache: Cache) throws -> ArchivedExchange? {
        guard !listing.isPartial, !listing.isLocked, let form = try cache.canonicalForm(of: listing.key),
            let stored = try cache.findOnDisk(listing.key, request: Array(form.utf8))
        else { return nil }
        return ArchivedExchange(
            request: ArchivedRequest(form: form, method: listing.method, url: listing.url), response: stored,
            isMasked: !withSecrets)
    }
}
#endif
