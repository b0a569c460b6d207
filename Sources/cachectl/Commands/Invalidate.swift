#if Tools
import ArgumentParser
import Diamond

struct Invalidate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "invalidate",
        abstract: "Marks entries stale, so that the next request revalidates them.",
        discussion: """
            Keeps validators, so that the server can answer 304. Does not count entries that are already marked. \
            Running programs notice within 0.1 seconds.

            EXAMPLE
              cachectl invalidate --tag items
            """
    )

    @OptionGroup var store: StoreOptions
    @OptionGroup var options: SelectionOptions

    @Flag(help: "Print how many would be marked, and mark nothing.")
    var dryRun = false

    func run() async throws {
        let count = try await options.apply(to: store) { (cache, selection) throws(CacheError) in
            guard !dryRun else { return try cache.count(selection, onlyValid: true) }
            let count = try await cache.invalidate(selection)
            if count == 0, let server = cache.server {
                Output.note("\(server) may mark entries without counting them")
            }
            return count
        }
        Output.result(
            [dryRun ? "wouldInvalidate" : "invalidated": count],
            or: "\(dryRun ? "would mark" : "marked") \(Quantity.entries(count)) stale", isJSON: store.json)
    }
}
#endif
