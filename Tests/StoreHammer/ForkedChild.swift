import CSpawn
import Diamond
import DiamondSQLite
import DiamondTestSupport
import Foundation

/// The child that a process forks with a cache open: no thread but the one that forked is in it.
struct ForkedChild {
    private let uptime = Guarded(Uptime(rawValue: 0))
    private let failures = Guarded(0)
    private let cache: Cache
    private let entry: CacheEntry
    private let observation: ActivityObservation

    /// Forks, and says how the child has ended: 0, or the number of the check that it failed, or 255 where it was
    /// killed because it waited.
    static func run(in directory: String) async throws -> Int32 {
        let child = try ForkedChild(directory)
        // Nothing is under way when it forks, or a lock might be held forever.
        await child.cache.flush()
        let identifier = spawn_fork()
        if identifier == 0 {
            alarm(20)
            _exit(child.firstFault)
        }
        var status: Int32 = 0
        while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? status >> 8 & 0xFF : 255
    }

    private init(_ directory: String) throws {
        let (activity, uptime, failures) = (Activity(), self.uptime, self.failures)
        observation = activity.observe { event in
            if case .cacheFailed = event { failures.withLock { $0 += 1 } }
        }
        cache = try Cache(
            Store(directory: URL(filePath: directory)), activity: activity,
            timing: CacheTiming(uptime: { uptime.withLock { $0 } }, writeDelay: .seconds(3600)))
        entry = try HammerSample(number: 1).entry(version: 1)
        cache.store(entry)
    }

    private var firstFault: Int32 {
        let checks = [tellsOfStores, doesNotWaitToFlush, refusesToPurge, refusesToRead, forgetsItsMemory]
        return Int32(checks.firstIndex { !$0() } ?? -1) + 1
    }

    private func tellsOfStores() -> Bool {
        for _ in 0..<2 { cache.store(entry) }
        return failures.withLock { $0 } == 1
    }

    private func doesNotWaitToFlush() -> Bool {
        ended { [cache] in
            await cache.flush()
            return true
        }
    }

    private func refusesToPurge() -> Bool {
        ended { [cache] in
            do throws(CacheError) {
                try await cache.purge()
                return false
            } catch {
                return error.isOfFork
            }
        }
    }

    private func refusesToRead() -> Bool {
        do throws(CacheError) {
            _ = try cache.findOnDisk(entry.key, request: entry.request)
            return false
        } catch {
            return error.isOfFork
        }
    }

    /// What others change, it would never hear.
    private func forgetsItsMemory() -> Bool {
        cache.store(entry)
        uptime.withLock { $0 += 1_000 }
        return cache.find(entry.key, request: entry.request) == nil
    }

    /// Whether it has come to its end without waiting for another thread.
    private func ended(_ body: @escaping @Sendable () async -> Bool) -> Bool {
        let result = Guarded(false)
        Task(executorPreference: CallingThread()) {
            let isRight = await body()
            result.withLock { $0 = isRight }
        }
        return result.withLock { $0 }
    }
}

extension CacheError {
    fileprivate var isOfFork: Bool { code == .forked && message.contains(": open ") }
}

/// Runs what a task does at once, in the thread that makes it.
private final class CallingThread: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) { job.runSynchronously(on: asUnownedTaskExecutor()) }
}
