#if Tools
import ArgumentParser
import Diamond

struct Purge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Erases entries, and gives their space back.",
        discussion: "Running programs notice within a tenth of a second. Pinned entries go, too."
    )

    @OptionGroup var store: StoreOptions
    @OptionGroup var options: SelectionOptions

    @Flag(help: "Say how many would be erased, and erase nothing.")
    var dryRun = false

    func run() async throws {
        tell(
            try await options.apply(to: store) { (cache, selection) throws(CacheError) in
                dryRun ? try cache.count(selection) : try await cache.purge(selection)
            })
    }

    private func tell(_ count: Int) {
        guard !store.json else { return Output.json([dryRun ? "wouldErase" : "erased": count]) }
        Output.line("\(dryRun ? "would erase" : "erased") \(Quantity.entries(count))")
    }
}
#endif
