import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// A lock belongs to an open file description, so that a test can hold locks like those of several processes.
@Suite("The lock of a store", .limit(minutes: 5)) struct FileLockTests {
    let temporary = TemporaryStore()

    /// A lock that is held, and never released.
    private func held() throws -> FileLock {
        try temporary.store.create()
        return try FileLock(temporary.store.lockPath, timeout: .zero)
    }

    /// A store whose opener does not wait.
    private var hasty: Store {
        var store = temporary.store
        store.lockTimeout = .zero
        return store
    }

    @Test func `a store's lock is waited for`() throws {
        var lock: FileLock? = try held()
        var waits = 0
        let other = try FileLock(temporary.store.lockPath, timeout: .seconds(30)) { _ in
            waits += 1
            if waits == 3 { lock = nil }
        }
        #expect(waits == 3 && lock == nil)
        withExtendedLifetime(other) {}
    }

    @Test func `a store's lock is shared by openers of an existing file, and excludes creation and moves`() throws {
        _ = try Cache(temporary.store)
        let path = temporary.store.lockPath
        // This stands for a process that was stopped while it opened the file.
        let lock = try FileLock(path, isShared: true, timeout: .zero)
        _ = try Cache(hasty)
        #expect(throws: SQLiteError.self) { try FileLock(path, timeout: .zero) }
        try FileManager.default.removeItem(atPath: temporary.store.cachePath)
        #expect(throws: CacheError.self) { try Cache(hasty) }
        withExtendedLifetime(lock) {}
    }

    @Test func `a store's lock is waited for no longer than its time limit`() throws {
        let lock = try held()
        var waited = Duration.zero
        let error = #expect(throws: SQLiteError.self) {
            try FileLock(temporary.store.lockPath, timeout: .seconds(30)) { waited += $0 }
        }
        #expect(error?.code == .busy && waited == .seconds(30))
        withExtendedLifetime(lock) {}
    }

    @Test func `a store's lock is waited for as long as SQLite's busy timeout`() {
        let timeout = Duration.milliseconds(SQLiteConfiguration(applicationID: 0, migrations: []).busyTimeout)
        #expect(temporary.store.lockTimeout == timeout)
        #expect(temporary.store.waiting(atMost: .seconds(1)).lockTimeout == .seconds(1))
        #expect(hasty.waiting(atMost: .seconds(1)).lockTimeout == .zero)
    }

    @Test(arguments: [false, true])
    func `a store's lock that is never released disables the cache, not the requests`(isThere: Bool) async throws {
        if isThere { _ = try Cache(temporary.store) }
        let lock = try held()
        var configuration = Engine.Configuration(store: hasty)
        configuration.transport = StubTransport(headers: [.cacheControl: "max-age=60"])
        let engine = Engine(configuration)
        #expect(engine.cache == nil && engine.cacheFailure?.code == .busy)
        #expect(engine.cacheFailure?.message.contains("another process holds the file; try again") == true)
        for _ in 0..<2 { #expect(try await engine.send(Request("http://h/")).source == .network) }
        withExtendedLifetime(lock) {}
        #expect(FileManager.default.fileExists(atPath: temporary.store.cachePath) == isThere)
    }

    @Test func `a store's lock that is never released delays no lookup, and is tried again`() async throws {
        let (uptime, failures, activity) = (Guarded(Uptime(rawValue: 0)), Guarded(0), Activity())
        let observation = activity.observe { event in
            if case .cacheFailed = event { failures.withLock { $0 += 1 } }
        }
        let cache = try Cache(
            hasty, activity: activity, memoryCapacity: 0, timing: CacheTiming(uptime: { uptime.withLock { $0 } }))
        let entry = try CacheEntry.stub("a")
        cache.store(entry)
        await cache.flush()
        var lock: FileLock? = try held()
        try FileManager.default.removeItem(atPath: temporary.store.cachePath)
        uptime.withLock { $0 += CrossProcessChanges.interval }
        _ = cache.find(entry.key, request: entry.request)
        #expect(failures.withLock { $0 } == 1)
        withExtendedLifetime(lock) {}
        lock = nil
        uptime.withLock { $0 += CrossProcessChanges.interval }
        #expect(cache.find(entry.key, request: entry.request) == nil)
        cache.store(entry)
        await cache.flush()
        #expect(try Cache(temporary.store, memoryCapacity: 0).findOnDisk(entry.key, request: entry.request) != nil)
        #expect(failures.withLock { $0 } == 1)
        withExtendedLifetime(observation) {}
    }

    @Test func `a store's lock that is never released keeps changes out of a file that was moved away`() async throws {
        let cache = try Cache(hasty, memoryCapacity: 0)
        let entry = try CacheEntry.stub("a")
        cache.store(entry)
        await cache.flush()
        let lock = try held()
        let (place, aside) = (URL(filePath: temporary.store.cachePath), temporary.directory.appending(path: "aside"))
        try FileManager.default.moveItem(at: place, to: aside)
        cache.forget(entry.key)
        await cache.flush()
        // The moved file stands for another file at the same path.
        try FileManager.default.moveItem(at: aside, to: place)
        #expect(try temporary.rows("entry") == 1)
        #expect(cache.find(entry.key, request: entry.request) == nil)
        withExtendedLifetime(lock) {}
        cache.store(try .stub("b"))
        await cache.flush()
        #expect(try temporary.rows("entry") == 1 && cache.find(entry.key, request: entry.request) == nil)
    }
}
