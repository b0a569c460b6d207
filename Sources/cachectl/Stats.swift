#if Tools
import ArgumentParser
import Diamond
import Foundation

struct Stats: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Prints how much is stored.")

    @OptionGroup var store: StoreOptions

    func run() throws {
        let cache = try store.openCache()
        do throws(CacheError) {
            show(StoreFigures(store.location, try cache.totals()))
        } catch {
            throw Failure.report(error)
        }
    }

    private func show(_ figures: StoreFigures) {
        guard !store.json else { return Output.json(figures) }
        Output.line("store    \(figures.store)")
        Output.line("entries  \(figures.entries)")
        Output.line("bodies   \(Quantity.bytes(figures.bodyBytes))")
        Output.line("disk     \(Quantity.bytes(figures.diskBytes))")
        Output.line("oldest   \(figures.oldest ?? "-")")
        Output.line("newest   \(figures.newest ?? "-")")
    }
}

/// The form of `stats --json`.
private struct StoreFigures: Encodable {
    var store: String
    var entries: Int
    var bodyBytes: Int64
    var diskBytes: Int64
    var oldest: String?
    var newest: String?

    init(_ store: Store, _ statistics: CacheTotals) {
        self.store = store.directory.path
        entries = statistics.entries
        bodyBytes = statistics.bodyBytes
        diskBytes = statistics.diskBytes
        oldest = statistics.oldest.map(Quantity.instant)
        newest = statistics.newest.map(Quantity.instant)
    }
}
#endif
