#if Postgres && canImport(CDiamondPostgres)
import Diamond
import DiamondPostgres
import DiamondSQLite
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

/// The effects of requests at a server that honors `Idempotency-Key`, in this process.
final class PostgresEffects: Sendable {
    private struct State {
        var keys: Set<String?> = []
        /// The paths of the requests, `LINE/NUMBER`, in the order of their effects.
        var paths: [String] = []
    }

    private struct Online: Reachability {
        let isReachable = true
    }

    private let state = Guarded(State())

    var paths: [String] { state.withLock { $0.paths } }

    private func act(on request: Request) {
        state.withLock { state in
            guard state.keys.insert(request.headers[.idempotencyKey]).inserted else { return }
            state.paths.append(request.url.replacing("http://api.test/", with: ""))
        }
    }

    /// Runs a body while a replayer sends the jobs of a storage.
    func sending(_ storage: PostgresReplayStorage, while body: () async throws -> Void) async throws {
        let queue = ReplayQueue(storage: storage)
        // An owner whose session is cut for long counts as dead, and that is no fault of its jobs.
        try await PostgresPlace.patiently { try await queue.allowSuddenTermination(true) }
        let replayer = Replayer(queue, width: 4, reachability: Online()) { [self] attempt in
            guard await attempt.begin() else {
                return JobResult(outcome: .failed(.returned, code: "cancelled", message: "it has not begun"))
            }
            act(on: attempt.request)
            return JobResult(outcome: .answered(status: 201))
        }
        async let run = replayer.run()
        try await body()
        replayer.stop()
        #expect(await run.error == nil)
        await queue.close()
    }

    /// Adds the jobs of a line, one after the other. Their ids are reserved, so that an addition is repeated until the
    /// server has answered.
    static func add(_ count: Int, to line: String, of storage: PostgresReplayStorage) async throws {
        for number in 0..<count {
            let text = "\(line)/\(number)"
            var request = Request("http://api.test/\(text)", method: .post, body: .json(["text": .string(text)]))
            request.replay = ReplayPolicy(.durable, orderingKey: line)
            var entry = ReplayEntry([try ReplayDraft(request)], maximumCount: 1_000_000)
            entry.ids = [try await PostgresPlace.patiently { try await storage.reserveIDs(1) }]
            _ = try await PostgresPlace.patiently { [entry] in try await storage.enqueue(entry, isWanted: nil) }
        }
    }

    /// Waits until jobs are done, as a storage sees it.
    static func waitForEnd(of count: Int, in storage: PostgresReplayStorage) async throws {
        try await untilTrue {
            let counts = try storage.counts()
            try #require(counts[.dead] == 0 && counts[.needsReview] == 0, "\(counts)")
            return counts[.done] == count
        }
    }

    /// Checks that each job of the lines has acted once, in the order of its line.
    func expectSound(_ count: Int, lines: [String]) {
        let paths = paths
        for line in lines {
            let own = paths.filter { $0.hasPrefix("\(line)/") }
            #expect(own == (0..<count).map { "\(line)/\($0)" }, "DIAMOND_SEED=\(Effort.seed)")
        }
        #expect(paths.count == count * lines.count)
    }
}
#endif
