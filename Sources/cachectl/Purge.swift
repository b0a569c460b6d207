#if Tools
import ArgumentParser
import Diamond

struct Purge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Erases one entry, or all of them.",
        discussion: "A running program may answer from its memory until it ends."
    )

    @OptionGroup var store: StoreOptions

    @Argument(help: ArgumentHelp("The key, or enough of its beginning.", valueName: "KEY"))
    var key: String?

    @Flag(help: "Erase every entry.")
    var all = false

    @Flag(help: "Say what would be erased, and erase nothing.")
    var dryRun = false

    func validate() throws {
        guard (key != nil) != all else {
            throw ValidationError(all ? "give a key or --all, not both" : "say what to erase: a key, or --all")
        }
    }

    func run() async throws {
        let cache = try store.openCache()
        let listing = try key.map { try KeyArgument($0).find(in: cache) }
        do throws(CacheError) {
            tell(try await erase(listing, from: cache))
        } catch {
            throw Failure.report(error)
        }
    }

    private func erase(_ listing: CacheListing?, from cache: Cache) async throws(CacheError) -> Int {
        guard let listing else { return dryRun ? try cache.totals().entries : try await cache.purge() }
        return dryRun ? 1 : try await cache.purge(listing.key) ? 1 : 0
    }

    private func tell(_ count: Int) {
        guard !store.json else { return Output.json([dryRun ? "wouldErase" : "erased": count]) }
        let entries = count == 1 ? "1 entry" : "\(count) entries"
        Output.line(dryRun ? "would erase \(entries)" : "erased \(entries)")
    }
}
#endif
