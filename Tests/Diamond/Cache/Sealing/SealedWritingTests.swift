import DiamondSQLite
import DiamondSchema
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("The calls of a seal while a store is written", .limit(minutes: 5)) struct SealedWritingTests {
    /// A seal that tests in each call whether another process could write.
    private final class ProbingSeal: CacheSeal {
        private struct State {
            var database: SQLiteDatabase?
            var keyID = "first"
            var calls = 0
            var refusals = 0
        }

        private let state = Guarded(State())

        var keyID: String {
            probe()
            return state.withLock { $0.keyID }
        }

        func seal(_ bytes: Data, context: Data) throws -> Data {
            probe()
            return try (state.withLock { $0.keyID } == "first" ? AESGCMSeal.first : .second)
                .seal(bytes, context: context)
        }

        func open(_ bytes: Data, keyID: String, context: Data) throws -> Data {
            probe()
            return try AESGCMSeal.second.open(bytes, keyID: keyID, context: context)
        }

        /// Begins to probe.
        func watch(_ store: Store) throws {
            let database = try SQLiteDatabase(path: store.cachePath, configuration: DiamondSchema.cache)
            state.withLock { $0.database = database }
        }

        func changeKey() { state.withLock { $0.keyID = "second" } }

        private func probe() {
            state.withLock { state in
                guard let database = state.database else { return }
                state.calls += 1
                if !database.canWriteImmediately { state.refusals += 1 }
            }
        }

        /// Returns the number of calls since the last reading, and the number of those that were during a transaction.
        func take() -> (calls: Int, refusals: Int) {
            state.withLock { state in
                defer { (state.calls, state.refusals) = (0, 0) }
                return (state.calls, state.refusals)
            }
        }
    }

    private let temporary = TemporaryStore()
    private let seal = ProbingSeal()

    private func expectFree(_ what: Comment) {
        let (calls, refusals) = seal.take()
        #expect(calls > 0 && refusals == 0, what)
    }

    @Test func `a seal is called outside of transactions, so that other processes can write`() async throws {
        let cache = try Cache(temporary.store, seal: seal, memoryCapacity: 0)
        try seal.watch(temporary.store)
        var entries = try (0..<3).map { try CacheEntry.stub("\($0)", size: 300_000, tags: ["t"]) }
        for entry in entries { cache.store(entry) }
        await cache.flush()
        expectFree("stored")
        for (index, key) in ["first", "second"].enumerated() {
            if key == "second" { seal.changeKey() }
            let before = entries[index].stored
            entries[index].stored.storedAt = 5
            cache.confirm(entries[index], replacing: before)
            await cache.flush()
            expectFree("confirmed with the \(key) key")
        }
        for entry in entries { #expect(try cache.findOnDisk(entry.key, request: entry.request) == entry.stored) }
        _ = seal.take()
        let large = try CacheEntry.stub("large", body: .noise(3 << 20))
        let writer = try cache.bodyWriter(for: large)
        for start in stride(from: 0, to: 3 << 20, by: 1 << 20) {
            try await writer.append(Data(large.stored.body[start..<start + (1 << 20)]))
        }
        expectFree("written in pieces")
        try await writer.finish()
        expectFree("finished")
        #expect(try cache.findOnDisk(large.key, request: large.request) == large.stored)
        #expect(try await cache.invalidate(.url(prefix: "http://h/")) == 4)
        expectFree("marked stale")
        #expect(try await cache.purge(.tag("t")) == 3)
    }

    @Test func `a row that was written again while its confirmation was sealed is not confirmed`() async throws {
        let cache = try Cache(temporary.store, seal: seal, memoryCapacity: 0)
        let entry = try CacheEntry.stub("a", size: 10)
        cache.store(entry)
        await cache.flush()
        var confirmed = entry
        confirmed.stored.storedAt = 5
        let file = try cache.file
        let confirmation = CacheConfirmation(entry: confirmed, old: entry.stored, coding: file.coding)
        let step = try file.prepared(.confirm(confirmation))
        cache.store(entry)
        await cache.flush()
        let isGone = try file.write { (connection) throws(SQLiteError) in try file.write(step, on: connection) }
        #expect(isGone)
        #expect(try cache.findOnDisk(entry.key, request: entry.request) == entry.stored)
    }

    @Test func `a value that was sealed for one file is not written into its replacement`() async throws {
        let cache = try Cache(temporary.store, seal: seal, memoryCapacity: 0)
        let file = try cache.file
        let generation = file.generation
        try file.throwIfReplaced(of: generation)
        for suffix in ["", "-wal", "-shm"] { unlink(temporary.store.cachePath + suffix) }
        try file.reopenIfReplaced()
        #expect(throws: SQLiteError.self) { try file.throwIfReplaced(of: generation) }
        var batch = CacheBatch([])
        batch.generation = generation
        #expect(throws: CacheError.self) { try cache.storage.write(batch) }
        let clear = try Cache(TemporaryStore().store, memoryCapacity: 0)
        try clear.file.throwIfReplaced(of: 9)
    }
}
