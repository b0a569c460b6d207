#if Tools
import ArgumentParser
import Diamond

struct Evict: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evict",
        abstract: "Evicts entries until the cache fits a size, and frees their disk space.",
        discussion: """
            Reserves 16 MiB of the size, or half of it if that is less, for the write-ahead log. If the entries exceed \
            the rest, evicts down to 90 % of it: expired parts first, then expired entries without a validator, then \
            entries that were not used. Keeps pinned entries. Does not change the limit of a running program.

            EXAMPLE
              cachectl evict --to 100MB
            """
    )

    @OptionGroup var store: StoreOptions

    @Option(
        help: ArgumentHelp(
            "Maximum bytes on disk, such as 100MB or 1.5GiB (default: the limit of the store's programs).",
            valueName: "SIZE"))
    var to: Size?

    @Flag(help: "Print how much would be evicted, and evict nothing.")
    var dryRun = false

    func run() async throws {
        let cache = try store.openCache()
        guard cache.server == nil || (to != nil && !dryRun) else {
            throw Failure.report(Failure.usage, "a server's programs set no limit: give --to SIZE, without --dry-run")
        }
        let capacity = to?.bytes ?? cache.effectiveCapacity ?? Cache.defaultDiskCapacity
        guard !dryRun else { return show(try cache.usage(of: capacity)) }
        let eviction = try await cache.evict(to: capacity)
        await cache.flush()
        show(eviction)
    }

    private func show(_ usage: CacheUsage) {
        let excess = usage.used > usage.bound ? usage.used - usage.goal : 0
        Output.result(
            ["used": usage.used, "bound": usage.bound, "wouldEvictBytes": excess],
            or: "would evict \(excess > 0 ? "about \(Quantity.bytes(excess))" : "nothing"): \(Self.text(usage))",
            isJSON: store.json)
    }

    private func show(_ eviction: CacheEviction) {
        let evicted = "evicted \(Quantity.entries(eviction.count)), \(Quantity.bytes(eviction.bytes))"
        Output.result(
            [
                "evicted": eviction.count, "evictedBytes": eviction.bytes, "used": eviction.usage.used,
                "bound": eviction.usage.bound,
            ], or: "\(evicted): \(Self.text(eviction.usage))", isJSON: store.json)
    }

    private static func text(_ usage: CacheUsage) -> String {
        "\(Quantity.bytes(usage.used)) used of \(Quantity.bytes(usage.bound))"
    }
}
#endif
