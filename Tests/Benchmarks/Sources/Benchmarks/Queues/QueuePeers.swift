import Diamond
import Foundation
import HTTPTypes

extension Benchmark {
    static let queuePeers = QueuePeer.allCases.flatMap { peer in
        QueuePeer.Work.allCases.map { work in
            Benchmark(
                name: "queue-\(peer.rawValue)-\(work.rawValue)",
                method: "\(work.method), to \(peer.rawValue) over SQLite with synchronous = FULL",
                unit: "x \(peer.rawValue)",
                target: .atLeast(peer.target(of: work)),
                isLong: true,
                measuring: { try await peer.race(work) }
            )
        }
    }
}

/// A queue in Python, set up as in its documentation, but always with synchronous writes.
private enum QueuePeer: String, CaseIterable {
    case litequeue
    case persistQueue = "persist-queue"
    case huey

    enum Work: String, CaseIterable {
        case enqueue, replay

        var method: String {
            switch self {
            case .enqueue: "jobs a second, one after the other, each durable before the next"
            case .replay: "jobs a second that a replayer takes and finishes, 8 at a time; the peer one after the other"
            }
        }
    }

    /// The peers have one table without ordering keys, times, identities and counts, so they write fewer pages for each
    /// job. huey deletes a job before it runs it.
    func target(of work: Work) -> Double {
        switch (self, work) {
        case (_, .enqueue): 0.4
        case (.huey, .replay): 0.75
        case (_, .replay): 1
        }
    }

    private static let (rounds, count) = (7, 300)

    func race(_ work: Work) async throws -> Benchmark.Measurement {
        try await Scratch.with { directory in
            let python = try PythonProcess("queues", [rawValue, directory.path])
            defer { python.stop() }
            let queue = try ReplayQueue(Store(directory: directory))
            let replayer = QueuePeer.replayer(of: queue)
            var (ratios, rates): ([Double], [Double]) = ([], [])
            for round in 0...Self.rounds {
                let ours = [
                    try await Effort.of { for _ in 0..<Self.count { try await queue.enqueue(QueuePeer.request) } }.wall,
                    await Effort.of { await replayer.replay() }.wall,
                ]
                let theirs = [try python.seconds("enqueue", Self.count), try python.seconds("replay", Self.count)]
                guard round > 0 else { continue }
                let index = work == .enqueue ? 0 : 1
                ratios.append(theirs[index] / ours[index])
                rates.append(Double(Self.count) / ours[index])
            }
            guard try queue.counts()[.done] == (Self.rounds + 1) * Self.count else { throw Failure("jobs are left") }
            let note = String(format: "%.0f a second, the peer %.0f", rates.median, rates.median / ratios.median)
            return Benchmark.Measurement(value: ratios.median, notes: [note])
        }
    }

    private static var request: Request {
        var request = Request("https://api.example.com/notes", method: .post, body: .json(["text": "Hello"]))
        request.replay = .durable
        return request
    }

    /// A replayer whose jobs are answered at once. It does everything else.
    private static func replayer(of queue: ReplayQueue) -> Replayer {
        Replayer(queue, width: 8, reachability: SystemReachability()) { attempt in
            _ = await attempt.begin()
            return JobResult(outcome: .answered(status: 201, isTransient: false, pushBack: nil))
        }
    }
}
