#if Tools
import ArgumentParser
import Diamond

struct Purge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge",
        abstract: "Deletes entries, and frees their disk space.",
        discussion: """
            Also deletes pinned entries, and the received parts of downloads. The parts are not counted, and --tag \
            does not select them. Running programs notice within 0.1 seconds.

            EXAMPLE
              cachectl purge --older-than 7d
            """
    )

    @OptionGroup var store: StoreOptions
    @OptionGroup var options: SelectionOptions

    @Flag(help: "Print how many would be deleted, and delete nothing.")
    var dryRun = false

    func run() async throws {
        let count = try await options.apply(to: store) { (cache, selection) throws(CacheError) in
            dryRun ? try cache.count(selection) : try await cache.purge(selection)
        }
        Output.result(
            [dryRun ? "wouldErase" : "erased": count],
            or: "\(dryRun ? "would erase" : "erased") \(Quantity.entries(count))", isJSON: store.json)
    }
}
#endif
