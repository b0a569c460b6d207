#if Tools
import ArgumentParser
import Diamond

struct Invalidate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Marks entries stale: the next request for them asks the server.",
        discussion: """
            What lets the server answer that nothing has changed is kept. Entries that are marked already are not counted. \
            Running programs notice within a tenth of a second.
            """
    )

    @OptionGroup var store: StoreOptions
    @OptionGroup var options: SelectionOptions

    @Flag(help: "Say how many would be marked, and mark nothing.")
    var dryRun = false

    func run() async throws {
        tell(
            try await options.apply(to: store) { (cache, selection) throws(CacheError) in
                dryRun ? try cache.count(selection, onlyValid: true) : try await cache.invalidate(selection)
            })
    }

    private func tell(_ count: Int) {
        guard !store.json else { return Output.json([dryRun ? "wouldInvalidate" : "invalidated": count]) }
        Output.line("\(dryRun ? "would mark" : "marked") \(Quantity.entries(count)) stale")
    }
}
#endif
