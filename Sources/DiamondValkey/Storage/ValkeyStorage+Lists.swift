#if Valkey
package import Diamond
import Foundation

/// Lists and counts, for tools: each reads all entries of the server.
extension ValkeyStorage {
    package func list(
        _ groups: [[CacheSelection]], by order: CacheOrder, after cursor: CacheCursor?, limit: Int
    ) async throws(CacheError) -> [CacheRecord] {
        var page: [CacheRecord] = []
        try await forEachRecord { record in
            guard groups.allSatisfy({ $0.contains { $0.condition.includes(record) } }),
                cursor.map({ $0.isBefore(record) }) ?? true
            else { return }
            page.append(record.with(chunks: []))
            if page.count > 2 * limit + 1000 { page = page.page(by: order, limit: limit) }
        }
        return page.page(by: order, limit: limit)
    }

    package func count(_ selections: [CacheSelection], onlyValid: Bool) async throws(CacheError) -> Int {
        var count = 0
        try await forEachRecord { record in
            guard record.isResponse, !(onlyValid && record.isStale) else { return }
            if selections.contains(where: { $0.condition.includes(record) }) { count += 1 }
        }
        return count
    }

    package func totals() async throws(CacheError) -> CacheTotals {
        var totals = CacheTotals()
        try await forEachRecord { record in
            if record.isResponse { totals.entries += 1 }
            totals.bodyBytes += Int64(record.bodySize)
        }
        return totals
    }

    /// Calls a closure with each record once, without the chunks of large bodies.
    private func forEachRecord(_ body: (CacheRecord) -> Void) async throws(CacheError) {
        var seen: Set<RequestKey> = []
        _ = try await forEachPage { (hashes) throws(CacheError) in
            for record in try await valid(rows(of: hashes, isTracked: false))
            where seen.insert(record.key).inserted {
                body(record)
            }
            return true
        }
    }
}
#endif
