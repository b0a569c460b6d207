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

/// An HTTP cache in Python, as its documentation sets it up.
private enum PythonPeer: String, CaseIterable {
    case requestsCache = "requests-cache"
    case hishel

    enum Work: String, CaseIterable {
        case hits, stores

        var method: String {
            switch self {
            case .hits: "answers a second from the cache to the same request"
            case .stores: "answers a second fetched from a server on this machine and stored"
            }
        }
    }

    func target(of work: Work) -> Double {
        switch (self, work) {
        case (.requestsCache, .hits): 75
        case (.hishel, .hits): 25
        case (.requestsCache, .stores): 10
        case (.hishel, .stores): 5
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
            let python = try PythonProcess(peer.rawValue, url, directory)
            defer { python.stop() }
            let engine = Engine(Engine.Configuration(store: Store(directory: directory)))
            var (ratios, times): ([Double], [Double]) = ([], [])
            for round in 0...Self.rounds {
                let ours = try await seconds(engine, round)
                let theirs = try python.seconds(work.rawValue, 100) / 100
                guard round > 0 else { continue }
                ratios.append(theirs / ours)
                times.append(ours * 1e6)
            }
            await engine.close()
            let note = String(format: "%.1f µs each, the peer's %.0f µs", times.median, times.median * ratios.median)
            return Benchmark.Measurement(value: ratios.median, notes: [note])
        }
    }

    /// Of one answer.
    private func seconds(_ engine: Engine, _ round: Int) async throws -> Double {
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
        }
    }

    private func fetch(_ url: String, _ source: Response.Source, _ engine: Engine) async throws {
        let response = try await engine.send(Request(url))
        guard response.source == source, response.body.count == Nginx.bodySize else {
            throw Failure("\(url) was answered wrongly")
        }
    }
}

/// `peers/caches.py`, in the virtual environment that `peers/prepare` makes.
private struct PythonProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    init(_ library: String, _ url: String, _ directory: URL) throws {
        let peers = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../../peers").standardizedFileURL
        let environment = peers.deletingLastPathComponent().appendingPathComponent(".build/peers")
        try Self.prepare(peers, environment)
        process.executableURL = environment.appendingPathComponent("bin/python")
        process.arguments = [peers.appendingPathComponent("caches.py").path, library, url, directory.path]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        try? output.fileHandleForWriting.close()
    }

    private static func prepare(_ peers: URL, _ environment: URL) throws {
        let preparation = try Process.run(
            peers.appendingPathComponent("prepare"), arguments: [environment.path])
        preparation.waitUntilExit()
        guard preparation.terminationStatus == 0 else {
            throw Failure("the peers in Python cannot be installed: see what pip says above")
        }
    }

    /// What some work took of processor time.
    func seconds(_ work: String, _ count: Int) throws -> Double {
        input.fileHandleForWriting.write(Data("\(work) \(count)\n".utf8))
        var answer = Data()
        while answer.last != UInt8(ascii: "\n"), let byte = try output.fileHandleForReading.read(upToCount: 1) {
            answer += byte
        }
        let line = String(decoding: answer.dropLast(), as: UTF8.self)
        guard let seconds = Double(line) else {
            throw Failure("the peer in Python answered '\(line)': see what it says above")
        }
        return seconds
    }

    /// It ends with its input.
    func stop() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
