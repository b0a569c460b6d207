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
        guard (key != nil) != all else { throw ValidationError(all ? "give a key or --all, not both" : "say what to erase: a key, or --all") }
    }

    func run() async throws {
        let cache = try store.openCache()
        do throws(CacheError) {
            let erased = try await erase(from: cache)
            guard !store.json else { return (try? Output.json(["erased": erased])) ?? () }
            let entries = erased == 1 ? "1 entry" : "\(erased) entries"
            Output.line(dryRun ? "would erase \(entries)" : "erased \(entries)")
        } catch {
            throw error.code == .other ? Failure.report(Failure.nothingFound, error.message) : Failure.report(error)
        }
    }

    private func erase(from cache: Cache) async throws(CacheError) -> Int {
        guard let key else { return dryRun ? try cache.statistics().entries : try await cache.purge() }
        let listing = try KeyArgument(key).find(in: cache)
        return dryRun ? 1 : try await cache.purge(listing.key) ? 1 : 0
    }
}
#endif
