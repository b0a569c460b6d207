import DiamondTestSupport
import DiamondTesting
import Dispatch
import Foundation
import Testing

@testable import Diamond
@testable import DiamondSQLite

@Suite("Pending writes of a cache", .limit(minutes: 5)) struct PendingWritesTests {
    let temporary = TemporaryStore()

    private func open(_ writeDelay: Duration = .seconds(86_400)) throws -> Cache {
        try Cache(temporary.store, timing: CacheTiming(writeDelay: writeDelay))
    }

    @Test func `are found by lookups, and are written at once by a flush`() async throws {
        let cache = try open()
        let entry = try CacheEntry.stub("a")
        cache.store(entry)
        #expect(try temporary.rows("entry") == 0)
        #expect(cache.find(entry.key, request: entry.request) == entry.stored)
        await cache.flush()
        #expect(try temporary.rows("entry") == 1)
    }

    // One thread runs all tasks: a blocking wait on it would hold up the task that is to end it.
    @Test func `a flush does not block its thread while another process holds the write lock`() async throws {
        let (cache, entry) = (try open(), try CacheEntry.stub("last"))
        let configuration = SQLiteConfiguration.ofCacheFile
        try await Task(executorPreference: SingleThreadExecutor()) {
            // After quick writes, the next is written on the caller's thread.
            for number in 0..<8 {
                cache.store(try .stub("\(number)"))
                await cache.flush()
            }
            let other = try SQLiteDatabase.open(
                temporary.store.cachePath, configuration: configuration, readOnly: false)
            try other.execute("BEGIN IMMEDIATE")
            cache.store(entry)
            async let isFlushed: Void = cache.flush()
            await Task.yield()
            try other.execute("ROLLBACK")
            await isFlushed
        }.value
        #expect(try cache.findOnDisk(entry.key, request: entry.request) == entry.stored)
    }

    @Test func `are written when their delay is over`() async throws {
        let cache = try open(.milliseconds(1))
        // Repeated, because a timer that has fired must be set again.
        for count in 1...3 as ClosedRange<Int64> {
            cache.store(try .stub("\(count)"))
            await untilTrue { (try? temporary.rows("entry")) == count }
        }
    }

    @Test func `are written at once when they fill a transaction`() async throws {
        let cache = try open()
        for number in 0..<63 { cache.store(try .stub("\(number)")) }
        #expect(try temporary.rows("entry") == 0)
        cache.store(try .stub("63"))
        await untilTrue { (try? temporary.rows("entry")) == 64 }
        // The entries are in the file before the writer is idle, and a busy writer would also write the next entry.
        await untilTrue { cache.writer.state.withLock { !$0.isScheduled } }
        cache.store(try .stub("64"))
        #expect(try temporary.rows("entry") == 64)
        await cache.flush()
        #expect(try temporary.rows("entry") == 65)
    }

    @Test func `a confirmation waits with the other pending writes`() async throws {
        let cache = try open()
        let entry = try CacheEntry.stub("a")
        cache.store(entry)
        await cache.flush()
        var confirmed = entry
        confirmed.stored.storedAt += 1000
        cache.confirm(confirmed, replacing: entry.stored)
        #expect(cache.find(entry.key, request: entry.request)?.storedAt == confirmed.stored.storedAt)
        #expect(try temporary.rows("entry WHERE stored_at = \(entry.stored.storedAt)") == 1)
        await cache.flush()
        #expect(try temporary.rows("entry WHERE stored_at = \(confirmed.stored.storedAt)") == 1)
    }

    @Test func `are written at once with a purge`() async throws {
        let cache = try open()
        let entry = try CacheEntry.stub("a")
        cache.store(entry)
        await cache.flush()
        cache.store(try .stub("b"))
        cache.forget(entry.key)
        await untilTrue { (try? temporary.rows("entry WHERE url LIKE '%b'")) == 1 }
        #expect(try temporary.rows("entry") == 1)
    }

    @Test func `a cache that was flushed and released holds no file open for pending writes`() async throws {
        var cache: Cache? = try open()
        let isGone = { @Sendable [weak writer = cache?.writer] in writer == nil }
        try cache?.store(.stub("a"))
        await cache?.flush()
        #expect(!isGone())
        cache = nil
        await untilTrue(isGone)
    }

    @Test func `are written though their cache is released`() async throws {
        var cache: Cache? = try open(.milliseconds(1))
        try cache?.store(.stub("a"))
        cache = nil
        await untilTrue { (try? temporary.rows("entry")) == 1 }
    }

    @Test func `hourly counts of pending writes include counts put back after a failure`() {
        var changes = PendingChanges()
        var haveEnded = [changes.counts.count(in: 1) { $0.hits += 1 }]
        let first = changes.drainUsageRecords()
        haveEnded.append(changes.counts.count(in: 1) { $0.hits += 2 })
        haveEnded.append(changes.counts.count(in: 2) { $0.misses += 4 })
        changes.putBack(first)
        haveEnded.append(changes.counts.count(in: 2) { $0.misses += 8 })
        #expect(haveEnded == [false, false, true, false])
        let counts = changes.drainUsageRecords().counts
        #expect(counts.map(\.hour) == [1, 2])
        #expect(counts.map(\.hits) == [3, 0])
        #expect(counts.map(\.misses) == [0, 12])
    }

    @Test func `are due at once only when a transaction is full`() throws {
        var (changes, entry) = (PendingChanges(), try CacheEntry.stub("a"))
        #expect(changes.add(.store(entry)) == .soon)
        #expect(changes.add(.confirm(entry, replacing: entry.stored)) == .soon)
        #expect(changes.add(.delete(entry.key)) == .now)
        #expect(changes.add(.store(entry)) == .already)
        changes = PendingChanges()
        entry.stored.body = Data(count: 4 << 20)
        #expect(changes.add(.store(entry)) == .now)
    }
    @Test func `have a cost that includes entries without a body`() throws {
        var (changes, entry) = (PendingChanges(), try CacheEntry.stub("a"))
        entry.stored.body = Data()
        _ = changes.add(.store(entry))
        let store = changes.cost
        _ = changes.add(.confirm(entry, replacing: entry.stored))
        let confirmation = changes.cost - store
        _ = changes.add(.delete(entry.key))
        #expect(store > entry.stored.headerBlock.count && confirmation > entry.stored.headerBlock.count)
        #expect(changes.cost == store + confirmation)
        changes.finish(changes.nextGroup())
        #expect(changes.cost == 0)
    }

    @Test func `failed writes are remembered one by one up to a limit`() throws {
        var changes = PendingChanges()
        let (keys, other) = (try (0..<PendingChanges.maximumFailures).map { try CacheEntry.stub("\($0)").key }, "other")
        let entry = try CacheEntry.stub(other)
        changes.fail(keys)
        #expect(keys.allSatisfy(changes.isOutdated) && !changes.isOutdated(entry.key))
        #expect(!changes.outdated.contains(.all))
        changes.fail([entry.key])
        #expect(changes.isOutdated(try CacheEntry.stub("another").key) && changes.outdated == [.all])
        changes.removeFailures()
        #expect(!changes.isOutdated(entry.key) && changes.outdated.isEmpty)
    }

    @Test func `failed invalidations are remembered one by one up to a limit`() {
        var changes = PendingChanges()
        let fail = { (changes: inout PendingChanges) in
            let urls = changes.untriedInvalidations
            changes.failInvalidations(urls.count, keeping: Set(urls))
        }
        for number in 0..<PendingChanges.maximumFailures { _ = changes.invalidate("\(number)") }
        #expect(changes.hasNewInvalidations)
        fail(&changes)
        #expect(!changes.hasNewInvalidations && changes.mustReconcile)
        // A repetition does not count again.
        _ = changes.invalidate("0")
        #expect(changes.hasNewInvalidations)
        fail(&changes)
        #expect(!changes.isAllOutdated)
        _ = changes.invalidate("another")
        fail(&changes)
        #expect(changes.isAllOutdated && changes.readyInvalidations.isEmpty && changes.outdated == [.all])
    }

    @Test func `failed invalidations are forgotten, and announced, if the disk has no such entries`() throws {
        var (changes, key) = (PendingChanges(), try CacheEntry.stub("a").key)
        for round in 0..<3 {
            for number in 0..<PendingChanges.maximumFailures { _ = changes.invalidate("\(round) \(number)") }
            changes.failInvalidations(changes.untriedInvalidations.count, keeping: ["\(round) 7"])
            #expect(!changes.hasNewInvalidations && changes.mustNotifyProcesses)
        }
        #expect(!changes.isAllOutdated && changes.readyInvalidations == ["0 7", "1 7", "2 7"])
        #expect(changes.pendingEntry(for: key, url: "2 7").isStale)
        #expect(!changes.pendingEntry(for: key, url: "2 8").isStale)
        changes.finishInvalidations(3)
        #expect(changes.canReconcile)
        changes.finishNotifying()
        #expect(!changes.mustReconcile)
    }

    @Test func `an invalidation repeated after the same change is written once`() throws {
        var (changes, entry) = (PendingChanges(), try CacheEntry.stub("a"))
        for _ in 0..<9 { _ = changes.invalidate(entry.url) }
        _ = changes.add(.store(entry))
        for _ in 0..<9 { _ = changes.invalidate(entry.url) }
        #expect(changes.readyInvalidations == [entry.url])
        changes.finishInvalidations(1)
        #expect(changes.readyInvalidations.isEmpty && changes.pendingEntry(for: entry.key, url: entry.url).isStale)
        #expect(!changes.pendingEntry(for: entry.key, url: entry.url).wasStale)
        changes.finish(changes.nextGroup())
        #expect(changes.readyInvalidations == [entry.url])
    }

    @Test func `an invalidation repeated while it is written, or given up, is written once more`() {
        var changes = PendingChanges()
        for url in ["a", "b"] { _ = changes.invalidate(url) }
        #expect(changes.beginReadyInvalidations() == ["a", "b"])
        for _ in 0..<3 { _ = changes.invalidate("a") }
        changes.finishInvalidations(2)
        #expect(changes.hasNewInvalidations && changes.readyInvalidations == ["a"])
        #expect(changes.beginUntriedInvalidations() == ["a"])
        for _ in 0..<3 { _ = changes.invalidate("a") }
        changes.failInvalidations(1, keeping: [])
        #expect(changes.hasNewInvalidations && changes.readyInvalidations == ["a"])
    }

    @Test func `an invalidation repeated during a write that fails is tried again once`() {
        var changes = PendingChanges()
        _ = changes.invalidate("a")
        for _ in 0..<3 {
            _ = changes.beginReadyInvalidations()
            _ = changes.invalidate("a")
            changes.failInvalidations(changes.beginUntriedInvalidations().count, keeping: ["a"])
            #expect(changes.readyInvalidations == ["a"])
        }
    }

    @Test func `pending invalidations are written in groups that fit one transaction`() throws {
        var (changes, key) = (PendingChanges(), try CacheEntry.stub("a").key)
        let urls = (0..<150).map { "\($0)" }
        for url in urls { _ = changes.invalidate(url) }
        var groups: [[String]] = []
        while changes.mustReconcile, groups.count < urls.count {
            let stale = urls.filter { changes.pendingEntry(for: key, url: $0).isStale }
            #expect(stale == Array(urls.dropFirst(groups.joined().count)))
            groups.append(changes.readyInvalidations)
            changes.finishInvalidations(changes.readyInvalidations.count)
        }
        #expect(groups.map(\.count) == [64, 64, 22] && Array(groups.joined()) == urls)
    }

    @Test func `are written in their order with the invalidations between them`() throws {
        var (changes, entry) = (PendingChanges(), try CacheEntry.stub("a"))
        _ = changes.add(.store(entry))
        _ = changes.invalidate(entry.url)
        entry.stored.storedAt = 5
        _ = changes.add(.store(entry))
        #expect(changes.readyInvalidations.isEmpty && !changes.hasNewInvalidations)
        var group = changes.nextGroup()
        #expect(group.count == 1)
        changes.finish(group)
        #expect(changes.readyInvalidations == [entry.url] && changes.hasNewInvalidations)
        changes.finishInvalidations(1)
        #expect(!changes.mustReconcile)
        group = changes.nextGroup()
        #expect(group.count == 1)
        changes.finish(group)
        #expect(changes.nextGroup().isEmpty)
    }

    @Test(arguments: [
        (SQLiteError.Code.full, true), (.ioError, true), (.constraint, true), (.corrupt, true), (.busy, false),
        (.readOnly, false), (.cannotOpen, false), (.newerSchema, false), (.forked, false),
    ])
    func `are tried one by one only if some may succeed`(code: SQLiteError.Code, isTried: Bool) {
        #expect(CacheError(SQLiteError(code, "", path: "")).mayConcernOneChange == isTried)
    }
}

private final class SingleThreadExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "diamond.tests.one-thread")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
