#if Tools
import ArgumentParser
import Diamond

struct Evict: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Brings the store within a bound now, and gives its space back.",
        discussion: """
            First goes what is expired and cannot be confirmed, then what was not used, down to 90 % of the bound; pinned \
            entries stay. Up to 16 MiB of the bound are kept for the log beside the file. A running program keeps its own \
            bound.
            """
    )

    @OptionGroup var store: StoreOptions

    @Option(
        help: ArgumentHelp(
            "Bytes on disk at most, such as 100MB or 1.5GiB; what the store's programs keep to if not given.",
            valueName: "SIZE"))
    var to: Size?

    @Flag(help: "Say how much is used of the bound, and evict nothing.")
    var dryRun = false

    func run() async throws {
        let cache = try store.openCache()
        let capacity = to?.bytes ?? cache.boundOfPrograms ?? Cache.defaultDiskCapacity
        do throws(CacheError) {
            guard !dryRun else { return tell(try cache.usage(of: capacity)) }
            let eviction = try await cache.evict(to: capacity)
            await cache.flush()
            tell(eviction)
        } catch {
            throw Failure.report(error)
        }
    }

    private func tell(_ usage: CacheUsage) {
        let excess = usage.used > usage.bound ? usage.used - usage.goal : 0
        guard !store.json else {
            return Output.json(["used": usage.used, "bound": usage.bound, "wouldEvictBytes": excess])
        }
        Output.line("would evict \(excess > 0 ? "about \(Quantity.bytes(excess))" : "nothing"): \(Self.text(usage))")
    }

    private func tell(_ done: CacheEviction) {
        guard !store.json else {
            return Output.json([
                "evicted": Int64(done.count), "evictedBytes": done.bytes, "used": done.usage.used,
                "bound": done.usage.bound,
            ])
        }
        Output.line("evicted \(Quantity.entries(done.count)), \(Quantity.bytes(done.bytes)): \(Self.text(done.usage))")
    }

    private static func text(_ usage: CacheUsage) -> String {
        "\(Quantity.bytes(usage.used)) used of \(Quantity.bytes(usage.bound))"
    }
}
#endif
