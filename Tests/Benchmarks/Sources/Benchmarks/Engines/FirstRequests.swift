import CPeers
import Diamond
import DiamondSQLite
import Foundation

extension Benchmark {
    static let firstRequests = [1, 8, 64].map { width in
        Benchmark(
            name: "engine-cache-\(width)",
            method: """
                processor time of a request through the engine whose response of 1 KiB is not stored, and is then stored on \
                disk, \(width) at a time, to C's lookup, the bare transport and C's store one after the other, with 64 \
                entries in a transaction on a writing thread
                """,
            unit: "x transport + C",
            target: .atMost(1.6),
            measuring: {
                try await Nginx.with { nginx in
                    try await Scratch.with { try await FirstRequests.measurement(width, nginx.freshURL, in: $0) }
                }
            }
        )
    }
}

/// Requests for URLs that are not stored, through an engine with a cache, and by a transport with a store in C.
private enum FirstRequests {
    private static let rounds = 11
    private static let count = 2048

    static func measurement(_ width: Int, _ url: String, in directory: URL) async throws -> Benchmark.Measurement {
        let engine = engine(width, Store(directory: directory.appendingPathComponent("ours")))
        let transport = CurlTransport()
        // For one side of the first race, and both of the second.
        let peer = try CCache(directory.appendingPathComponent("theirs"), 3 * count * (rounds + 1))
        defer { peer.close() }
        let (ours, theirs) = (NewURLs(url), NewURLs(url))
        let withC = { (fetch: @escaping @Sendable (String) async throws -> Void) in
            {
                try await Load.run(count, width: width) {
                    try peer.find()
                    try await fetch(theirs.next())
                    try peer.store()
                }
                try peer.flush()
            }
        }
        let race = Race(
            rounds: rounds,
            ours: {
                try await Load.run(count, width: width) { try await fetch(ours.next(), engine) }
                await engine.cache?.flush()
            },
            peer: withC { try await transport.fetch($0) }
        )
        let floor = Race(
            rounds: rounds,
            ours: withC { try await transport.fetchApart($0) },
            peer: withC { try await transport.fetch($0) }
        )
        let ratio = try await race.ratio(of: \.processor)
        guard try engine.cache?.totals().entries == count * (rounds + 1) else { throw Failure("not all was stored") }
        let measurement = Benchmark.Measurement(
            value: ratio, notes: [Benchmark.note(floor: try await floor.ratio(of: \.processor))])
        await transport.close()
        await engine.close()
        return measurement
    }

    private static func engine(_ width: Int, _ store: Store) -> Engine {
        var configuration = Engine.Configuration(store: store)
        // Like the bare transport and C's file, without a limit.
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

/// The same document at many URLs.
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

/// The store in C, in a file of its own.
private final class CCache: Sendable {
    private struct Peers: @unchecked Sendable {
        let finder, store: OpaquePointer
        /// The number of lookups.
        var found = 0
    }

    let entries: [CacheEntry]
    private let peers: Guarded<Peers>

    init(_ directory: URL, _ count: Int) throws {
        let store = try StorePeer.open(directory, isHanded: true)
        let path = Store(directory: directory).cachePath
        guard let finder = disk_peer_open(path, true) else {
            store_peer_close(store)
            throw Failure("C cannot open \(path)")
        }
        entries = (0..<count).map { Entries.make($0, bodySize: Nginx.bodySize) }
        for entry in entries { entry.withEntry { store_peer_prepare(store, &$0) } }
        peers = Guarded(Peers(finder: finder, store: store))
    }

    /// Looks up the next entry, which is not stored.
    func find() throws {
        let isThere = peers.withLock { peers in
            defer { peers.found += 1 }
            return entries[peers.found].withQuestion { disk_peer_get(peers.finder, &$0) }
        }
        guard !isThere else { throw Failure("C found what nobody has stored") }
    }

    /// Passes the next entry to the writing thread.
    func store() throws {
        guard peers.withLock({ store_peer_add($0.store, 64) }) else { throw Failure("C has nothing to store") }
    }

    func flush() throws {
        guard peers.withLock({ store_peer_flush($0.store) }) else { throw Failure("C cannot store") }
    }

    func close() {
        peers.withLock { peers in
            disk_peer_close(peers.finder)
            store_peer_close(peers.store)
        }
    }
}
