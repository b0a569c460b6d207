import CPeers
import Diamond
import DiamondSQLite
import Foundation

extension Benchmark {
    static let firstRequests = [1, 8, 64].map { width in
        Benchmark(
            name: "engine-cache-\(width)",
            method: """
                processor time of a request through the engine that finds nothing in the cache and has its answer of 1 KiB \
                stored, \(width) at a time, until all are on disk, to the bare transport, C's look-up that finds nothing and C's \
                store, up to 64 in a transaction, together
                """,
            unit: "x transport + C",
            target: .atMost(1.3),
            measuring: {
                try await Nginx.with { nginx in
                    try await Scratch.with { try await FirstRequests.measurement(width, nginx.freshURL, in: $0) }
                }
            }
        )
    }
}

/// Each for a URL that nobody has asked for before: through an engine with a cache, and by a transport with C beside it.
private enum FirstRequests {
    private static let rounds = 11
    private static let count = 2048

    static func measurement(_ width: Int, _ url: String, in directory: URL) async throws -> Benchmark.Measurement {
        let engine = engine(width, Store(directory: directory.appendingPathComponent("ours")))
        let transport = CurlTransport()
        let peer = try CCache(directory.appendingPathComponent("theirs"), count * (rounds + 1))
        defer { peer.close() }
        let (ours, theirs) = (NewURLs(url), NewURLs(url))
        var (rest, sending, keeping): (ArraySlice<CacheEntry>, [Double], [Double]) = (peer.entries[...], [], [])
        let race = Race(
            rounds: rounds,
            ours: {
                try await Load.run(count, width: width) { try await fetch(ours.next(), engine) }
                await engine.cache?.flush()
            },
            peer: {
                let sent = try await Effort.of {
                    try await Load.run(count, width: width) { try await transport.fetch(theirs.next()) }
                }
                let kept = try await Effort.of { try peer.keep(rest.prefix(count)) }
                rest = rest.dropFirst(count)
                sending.append(sent.processor / Double(count) * 1e6)
                keeping.append(kept.processor / Double(count) * 1e6)
            }
        )
        let ratio = try await race.ratio(of: \.processor)
        guard try engine.cache?.totals().entries == peer.entries.count else { throw Failure("not all was stored") }
        await transport.close()
        await engine.close()
        let note = String(format: "the transport takes %.1f µs, C's cache %.1f µs", sending.median, keeping.median)
        return Benchmark.Measurement(value: ratio, notes: [note])
    }

    private static func engine(_ width: Int, _ store: Store) -> Engine {
        var configuration = Engine.Configuration(store: store)
        // The transport alone has no limit either, and C's file no bound.
        configuration.originWidth = width
        configuration.diskCapacity = 1 << 40
        return Engine(configuration)
    }

    private static func fetch(_ url: String, _ engine: Engine) async throws {
        let response = try await engine.send(Request(url))
        guard response.source == .network, response.body.count == Nginx.bodySize else {
            throw Failure("\(url) was answered wrongly")
        }
    }
}

/// The same document under one URL after another.
private struct NewURLs {
    private let url: String
    private let count = Guarded(0)

    init(_ url: String) { self.url = url }

    func next() -> String {
        let number = count.withLock { count in
            count += 1
            return count
        }
        return "\(url)?number=\(number)"
    }
}

/// What C does in the place of the cache, in a file of its own.
private struct CCache {
    let entries: [CacheEntry]
    private let finder: OpaquePointer
    private let store: OpaquePointer

    init(_ directory: URL, _ count: Int) throws {
        store = try StorePeer.open(directory, isHanded: true)
        let path = Store(directory: directory).cachePath
        guard let finder = disk_peer_open(path) else {
            store_peer_close(store)
            throw Failure("C cannot open \(path)")
        }
        self.finder = finder
        entries = (0..<count).map { Entries.make($0, bodySize: Nginx.bodySize) }
        for entry in entries { entry.withEntry { store_peer_prepare(store, &$0) } }
    }

    /// Looks for the next entries, which are not there, and stores them.
    func keep(_ entries: ArraySlice<CacheEntry>) throws {
        for entry in entries {
            try entry.withQuestion { found in
                guard !disk_peer_get(finder, &found) else { throw Failure("C found what nobody has stored") }
            }
        }
        guard store_peer_store(store, entries.count, 64) else { throw Failure("C cannot store") }
    }

    func close() {
        disk_peer_close(finder)
        store_peer_close(store)
    }
}
