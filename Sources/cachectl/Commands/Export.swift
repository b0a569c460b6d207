#if Tools
import ArgumentParser
import Diamond

struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Prints entries as an HTTP archive (HAR 1.2), which browsers and other tools read.",
        discussion: """
            Masks secrets as •••: credentials, cookies, and each field, parameter and member of JSON whose name says \
            that it is secret. --with-secrets prints the response fields and bodies as they are stored. The store has \
            no credentials of requests. A body that is not UTF-8 is in base64. Leaves out parts of bodies.

            EXAMPLE
              cachectl export --har --match /cities/ > cities.har
            """
    )

    @OptionGroup var store: StoreOptions

    @Flag(help: "The format: HAR 1.2, the only one so far.")
    var har = false

    @Flag(help: "Do not mask the secrets of responses.")
    var withSecrets = false

    @Option(help: ArgumentHelp("Only entries of a host, whatever the scheme and port.", valueName: "HOST"))
    var host: String?

    @Flag(help: .quiet)
    var quiet = false

    @OptionGroup var filter: EntryFilterOptions

    func validate() throws { guard har else { throw ValidationError("say which format: give --har") } }

    func run() throws {
        let now = WallTime.now
        let cache = try store.openCache()
        if filter.needsKey || host != nil { try store.refuseLocked(cache) }
        Output.line(
            "{\"log\":{\"version\":\"1.2\",\"creator\":\(Output.text(of: Self.creator)),\"pages\":[],\"entries\":[")
        var (count, leftOut, hasLocked) = (0, 0, false)
        var cursor: CacheCursor?
        let total = filter.isEmpty && host == nil ? (try? cache.totals())?.entries : nil
        let progress = Progress("entries", of: total, isQuiet: quiet || store.json)
        defer { progress.end() }
        while true {
            let page = try filter.list(
                host.map { [.host($0)] } ?? [], in: cache, by: .newest, after: cursor, limit: 1000, at: now)
            guard let last = page.last else { break }
            for listing in page {
                hasLocked = hasLocked || listing.isLocked
                guard let exchange = try exchange(of: listing, in: cache) else {
                    leftOut += 1
                    continue
                }
                Output.line((count > 0 ? "," : "") + Output.text(of: exchange.form))
                count += 1
                Progress.update(count)
            }
            cursor = CacheCursor(after: last, by: .newest)
        }
        Output.line("]}}")
        if leftOut > 0 { Output.note("\(Quantity.entries(leftOut)) left out: parts, or they cannot be read") }
        if hasLocked { try store.refuseLockedEntries(in: cache) }
    }

    private static var creator: JSONObject { ["name": "cachectl", "version": Cachectl.configuration.version] }

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
