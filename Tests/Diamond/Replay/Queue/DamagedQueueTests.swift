import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond
@testable import DiamondSQLite

/// Copies of a queue's file and its log, each with a flipped bit or a zeroed block, and the requests sent from them.
@Suite("A damaged queue", .limit(minutes: 5)) struct DamagedQueueTests {
    /// The files of a queue, and the requests written into it.
    private struct Original {
        var file: Data
        var log: Data
        var sent = Data()
        var requests: [Int64: Request] = [:]
        var done: Set<Int64> = []
    }

    private static func request(_ number: Int) -> Request {
        let methods: [HTTPRequest.Method] = [.post, .put, .patch, .delete, .post]
        let method = methods[number % 5]
        var request = Request("http://api.test/notes/\(number)", method: method)
        let text = String(repeating: "text \(number) ", count: number % 7 == 0 ? 700 : 3)
        if method != .delete { request.body = .json(["number": JSONValue(number), "text": .string(text)]) }
        if number % 3 == 0 { request.identity = "user-\(number % 4)" }
        let key = number % 4 == 0 ? "line-\(number % 3)" : nil
        let lifetime: Duration? = number % 5 == 4 ? nil : .seconds(86_400)
        request.replay = ReplayPolicy(.durable, orderingKey: key, keyLifetime: lifetime)
        return request
    }

    /// - Parameter isInLog: whether most of the queue is still in the write-ahead log.
    private static func original(isInLog: Bool) async throws -> Original {
        let temporary = TemporaryStore()
        let queue = try ReplayQueue(temporary.store, clock: .still)
        try await queue.enqueue((0..<40).map(request))
        var original = Original(file: Data(), log: Data())
        for job in try queue.jobs() { original.requests[job.id] = try queue.request(of: job.id) }
        let count = Guarded(0)
        let replayer = Replayer(queue, width: 4, reachability: StubReachability()) { attempt in
            let number = count.withLock { count in
                count += 1
                return count
            }
            // Some jobs are done, some wait, and the others stay ready.
            guard number <= 16, await attempt.begin() else { return JobResult(outcome: .notBegun) }
            return JobResult(outcome: number % 4 == 0 ? .unsent : .success)
        }
        let run = Task { await replayer.run() }
        await untilTrue { count.withLock { $0 } > 16 }
        replayer.stop()
        _ = await run.value
        original.done = Set(try queue.jobs().filter { $0.state == .done }.map(\.id))
        if !isInLog {
            try SQLiteHandle(path: temporary.store.replayPath, flags: 2, vfs: nil)
                .execute("PRAGMA wal_checkpoint(TRUNCATE)")
        }
        original.file = try Data(contentsOf: URL(filePath: temporary.store.replayPath))
        original.log = (try? Data(contentsOf: URL(filePath: temporary.store.replayPath + "-wal"))) ?? Data()
        original.sent = (try? Data(contentsOf: URL(filePath: temporary.store.sentPath))) ?? Data()
        await queue.close()
        return original
    }

    private static func damage(_ bytes: inout Data, _ random: inout SplitMix) {
        let kind = random.below(4)
        guard kind > 1 else { return bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8)) }
        let size = kind == 2 ? 64 : 4096
        let start = random.below(bytes.count) / size * size
        for index in start..<min(start + size, bytes.count) { bytes[index] = 0 }
    }

    /// The requests sent from a damaged copy, by the ids of their jobs.
    private static func sent(
        of original: Original, seed: Int
    ) async throws -> (requests: [(Int64, Request)], inReview: Int) {
        var (copy, random) = (original, SplitMix(state: UInt64(seed)))
        let isOfLog = copy.log.count > copy.file.count
        if isOfLog { damage(&copy.log, &random) } else { damage(&copy.file, &random) }
        let temporary = TemporaryStore()
        try temporary.store.create(temporary.store.replayDirectory)
        try copy.file.write(to: URL(filePath: temporary.store.replayPath))
        try copy.log.write(to: URL(filePath: temporary.store.replayPath + "-wal"))
        try copy.sent.write(to: URL(filePath: temporary.store.sentPath))
        let (passed, pauses, closing) = (Guarded<Int64>(0), Guarded(0), Guarded<ReplayQueue?>(nil))
        var clock = ReplayClock.still
        clock.now = { ReplayClock.system.now() + passed.withLock { $0 } }
        clock.uptime = { Uptime(rawValue: passed.withLock { $0 }) }
        clock.sleep = ImmediateClock { _ in
            // A failed write is retried until the queue is closed.
            guard
                pauses.withLock({
                    $0 += 1; return $0 == 8
                }), let queue = closing.withLock({ $0 })
            else { return }
            Task { await queue.close() }
        }
        let queue: ReplayQueue
        do throws(ReplayError) { queue = try ReplayQueue(temporary.store, clock: clock) } catch { return ([], 0) }
        closing.withLock { $0 = queue }
        let sent = Guarded<[(Int64, Request)]>([])
        let replayer = Replayer(queue, width: 64, reachability: StubReachability()) { attempt in
            guard await attempt.begin() else { return JobResult(outcome: .notBegun) }
            sent.withLock { $0.append((attempt.id ?? 0, attempt.request)) }
            return JobResult(outcome: .success)
        }
        for _ in 0..<3 {
            await replayer.replay()
            passed.withLock { $0 += 3_600_000 }
        }
        await queue.close()
        let damaged = (try? queue.jobs().filter { $0.reason == .damaged }.count) ?? 0
        return (sent.withLock { $0 }, damaged)
    }

    @Test(arguments: [true, false])
    func `sends no altered request, and none twice`(isInLog: Bool) async throws {
        let original = try await Self.original(isInLog: isInLog)
        let (count, inReview) = (Guarded(0), Guarded(0))
        await withTaskGroup { group in
            for part in 0..<2 {
                group.addTask {
                    for seed in stride(from: part, to: 100, by: 2) {
                        guard let outcome = try? await Self.sent(of: original, seed: seed) else { continue }
                        var ids: Set<Int64> = []
                        for (id, request) in outcome.requests {
                            #expect(original.requests[id] == request, "seed \(seed), job \(id)")
                            #expect(ids.insert(id).inserted, "seed \(seed), job \(id)")
                            // A damaged log ends at the damage, and its later records are lost.
                            let isRepeatable = request.method.isIdempotent || request.replay.keyLifetime != nil
                            let mayCome = isInLog && isRepeatable
                            #expect(mayCome || !original.done.contains(id), "seed \(seed), job \(id)")
                        }
                        count.withLock { $0 += outcome.requests.count }
                        inReview.withLock { $0 += outcome.inReview }
                    }
                }
            }
        }
        // Most copies still send their jobs, and some jobs are for review.
        #expect(count.withLock { $0 } > 400)
        #expect(isInLog || inReview.withLock { $0 } > 0)
    }
}
