import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond
@testable import DiamondInspection
@testable import DiamondSQLite

/// Extreme values, and values of other types, in each column of a store's files. No operation may end the process.
@Suite("A column with any value", .limit(minutes: 15)) struct AnyValueTests {
    /// Writes a value into a column.
    ///
    /// - Returns: `false` if the schema refuses the value.
    private func write(_ value: String, into column: StoreColumn, of path: String) throws -> Bool {
        let handle = try SQLiteHandle(path: path, flags: 2, vfs: nil)
        return column.updates(to: value).contains { (try? handle.execute($0)) != nil }
    }

    // MARK: The queue

    /// The tables whose numbers decide nothing about a job.
    private static let counters: Set<String> = ["census", "hour", "turn", "attempt", "owner", "clock"]

    private static let queueColumns = StoreColumn.all(of: .ofQueueFile)

    @Test(arguments: queueColumns) func `a column of a queue with any value ends no process`(column: StoreColumn)
        async throws
    {
        #expect(Self.queueColumns.count > 60)
        let isCritical = ["census", "turn", "clock"].contains(column.table)
        for value in isCritical ? StoreColumn.values : column.some(1) {
            let fixture = ReplayFixture()
            try QueueFixture.open(version: QueueFixture.newest, in: fixture.temporary.store)
            guard try write(value, into: column, of: fixture.temporary.store.replayPath) else { continue }
            try await use(fixture, column, value)
        }
    }

    private func use(_ fixture: ReplayFixture, _ column: StoreColumn, _ value: String) async throws {
        let place: Comment = "\(column.testDescription) = \(value), DIAMOND_SEED=\(Effort.seed)"
        let store = fixture.temporary.store
        _ = ReplayDiagnosis(of: store)?.problems
        _ = try? ReplayInspection(of: store)?.findings
        let engine = QueueFixture.engine(of: fixture)
        let queue: ReplayQueue
        do throws(ReplayError) { queue = try engine.queue() } catch {
            return #expect(error.code != .other && !Self.counters.contains(column.table), place)
        }
        read(queue)
        let id = try? await queue.enqueue(fixture.note(.durable))
        _ = try? await queue.hold(.identity("anna"), reason: "a test")
        let summary = await (try engine.replayer()).replay(ignoringBackoff: true)
        #expect(summary.error?.code != .other, place)
        if Self.counters.contains(column.table) {
            #expect(id != nil && summary.error == nil && summary.finished >= 15, place)
        }
        _ = try? await queue.release(.identity("anna"))
        read(queue)
        await engine.close()
    }

    private func read(_ queue: ReplayQueue) {
        _ = try? queue.counts()
        _ = try? queue.count(ReplayFilter())
        _ = try? queue.keys()
        _ = try? queue.holds()
        _ = try? queue.history(since: .distantPast)
        for job in (try? queue.jobs()) ?? [] {
            _ = (job.description, try? queue.request(of: job.id), try? queue.failures(of: job.id))
        }
    }

    // MARK: The cache

    private static let cacheColumns = StoreColumn.all(of: .ofCacheFile)

    @Test(arguments: cacheColumns) func `a column of a cache with any value ends no process`(column: StoreColumn)
        async throws
    {
        #expect(Self.cacheColumns.count > 40)
        for value in column.some(1) {
            let temporary = TemporaryStore()
            try StoreFixture.open(version: StoreFixture.newest, in: temporary.store)
            guard try write(value, into: column, of: temporary.store.cachePath) else { continue }
            try await use(temporary.store)
        }
    }

    private func use(_ store: Store) async throws {
        _ = CacheDiagnosis(of: store).problems
        let cache = try Cache(store, memoryCapacity: 0, timing: CacheTiming(now: { StoreFixture.now }))
        for entry in try StoreFixture.clear() { _ = try? cache.findOnDisk(entry.key, request: entry.request) }
        _ = (try? cache.totals(), try? cache.statistics(), try? cache.count(.all, onlyValid: true))
        _ = (try? cache.downloads(), try? cache.file.read(CacheTable.accesses).accesses)
        _ = try? cache.file.read { (connection) throws(SQLiteError) in
            try CacheTable.changes(after: .start, on: connection)
        }
        for entry in try StoreFixture.clear() { cache.store(entry) }
        await cache.flush()
        _ = try? await cache.invalidate(.tag("a"))
        _ = try? await cache.evict(to: 1 << 20)
        _ = try? await cache.purge(.host("api.example.org"))
        _ = try? CacheInspection(of: store, seal: nil).repair()
    }
}
