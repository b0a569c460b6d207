import Diamond
import Foundation

extension Benchmark {
    static let pythonPeers = PythonPeer.allCases.flatMap { peer in
        PythonPeer.Work.allCases.map { work in
            Benchmark(
                name: "\(peer.rawValue)-\(work.rawValue)",
                method: "\(work.method), by an engine as it is made, to \(peer.rawValue) over SQLite; processor time",
                unit: "x \(peer.rawValue)",
                target: .atLeast(peer.target(of: work)),
                isLong: true,
                measuring: { try await Nginx.with { try await PythonRace(peer, work, $0.freshURL).measurement() } }
            )
        }
    }
}

/// An HTTP cache in Python, set up as in its documentation.
private enum PythonPeer: String, CaseIterable {
    case requestsCache = "requests-cache"
    case hishel

    enum Work: String, CaseIterable {
        case hits, stores
        case crowdedStores = "stores-64"

        var method: String {
            switch self {
            case .hits: "responses a second from the cache to the same request"
            case .stores: "responses a second, fetched from a server on this machine and stored"
            // The peer uses one thread, because threads and tasks only add to its time.
            case .crowdedStores: "the same with 64 at a time; the peer one after the other, which is its fastest way"
            }
        }

        /// The command for the peer.
        var peers: String { self == .hits ? "hits" : "stores" }
    }

    func target(of work: Work) -> Double {
        switch (self, work) {
        case (.requestsCache, .hits): 75
        case (.hishel, .hits): 25
        case (.requestsCache, .stores), (.requestsCache, .crowdedStores): 10
        case (.hishel, .stores), (.hishel, .crowdedStores): 5
        }
    }
}

private struct PythonRace {
    private static let rounds = 7

    private let peer: PythonPeer
    private let work: PythonPeer.Work
    private let url: String

    init(_ peer: PythonPeer, _ work: PythonPeer.Work, _ url: String) {
        self.peer = peer
        self.work = work
        self.url = url
    }

    func measurement() async throws -> Benchmark.Measurement {
        try await Scratch.with { directory in
            let python = try PythonProcess("caches", [peer.rawValue, url, directory.path])
            defer { python.stop() }
            let engine = Engine(Engine.Configuration(store: Store(directory: directory)))
            var (ratios, times): ([Double], [Double]) = ([], [])
            for round in 0...Self.rounds {
                let ours = try await seconds(engine, round)
                let theirs = try python.seconds(work.peers, 100) / 100
                guard round > 0 else { continue }
                ratios.append(theirs / ours)
                times.append(ours * 1e6)
            }
            await engine.close()
            let note = String(format: "%.1f µs each, the peer's %.0f µs", times.median, times.median * ratios.median)
            return Benchmark.Measurement(value: ratios.median, notes: [note])
        }
    }

    /// The time of one response, outside any actor. On the main actor it would include two thread switches.
    @concurrent private func seconds(_ engine: Engine, _ round: Int) async throws -> Double {
        switch work {
        case .hits:
            let count = 10_000
            _ = try await engine.send(Request(url))
            return try await Effort.of {
                for _ in 0..<count { try await fetch(url, .cache, engine) }
            }.processor / Double(count)
        case .stores:
            let count = 1000
            return try await Effort.of {
                for number in 0..<count { try await fetch("\(url)?number=\(round)-\(number)", .network, engine) }
                await engine.cache?.flush()
            }.processor / Double(count)
        case .crowdedStores:
            let (crowd, share) = (64, 60)
            return try await Effort.of {
                try await withThrowingTaskGroup { group in
                    for member in 0..<crowd {
                        group.addTask {
                            for number in 0..<share {
                                try await fetch("\(url)?number=\(round)-\(member)-\(number)", .network, engine)
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                await engine.cache?.flush()
            }.processor / Double(crowd * share)
        }
    }

    private func fetch(_ url: String, _ source: Response.Source, _ engine: Engine) async throws {
        let response = try await engine.send(Request(url))
        guard response.source == source, response.body.count == Nginx.bodySize else {
            throw Failure("\(url) was answered wrongly")
        }
    }
}
