import CPeers
import Diamond
import Foundation

extension Benchmark {
    static let stores = [
        Benchmark(
            name: "store-1k-grouped",
            method: """
                processor time of storing 2,048 new entries of 1 KiB, up to 64 in a transaction, to C with the same schema, \
                statements, rows and checksums, with a calling and a writing thread
                """,
            unit: "x C",
            target: .atMost(1.25),
            measure: { try await Stores.ratio(count: 2048, group: 64, isHanded: true) }
        ),
        Benchmark(
            name: "store-1k-single",
            method: """
                processor time of storing a new entry of 1 KiB and waiting until it is on disk, to C with a \
                calling and a writing thread
                """,
            unit: "x C",
            target: .atMost(1.25),
            measure: { try await Stores.ratio(count: 1024, group: 1, isHanded: true) }
        ),
    ]
}

/// The same new entries, stored by Diamond and by C in files of their own.
private enum Stores {
    private static let rounds = 11

    static func ratio(count: Int, group: Int, isHanded: Bool) async throws -> Double {
        try await Scratch.with { directory in
            let cache = try Cache.onDisk(directory.appendingPathComponent("ours"))
            let peer = try StorePeer.open(directory.appendingPathComponent("theirs"), isHanded: isHanded)
            defer { store_peer_close(peer) }
            let entries = (0..<count * (rounds + 1)).map { Entries.make($0) }
            for entry in entries { entry.withEntry { store_peer_prepare(peer, &$0) } }
            var rest = entries[...]
            let race = Race(
                rounds: rounds,
                ours: { await store(take(count, of: &rest), group: group, in: cache) },
                peer: { guard store_peer_store(peer, count, group) else { throw Failure("C cannot store") } }
            )
            let ratio = try await race.ratio(of: \.processor)
            guard try cache.totals().entries == entries.count else { throw Failure("not everything was stored") }
            return ratio
        }
    }

    private static func take(_ count: Int, of rest: inout ArraySlice<CacheEntry>) -> ArraySlice<CacheEntry> {
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    // Outside the main actor, because a flush suspends.
    @concurrent
    private static func store(_ entries: ArraySlice<CacheEntry>, group: Int, in cache: Cache) async {
        for entry in entries {
            cache.store(entry)
            if group == 1 { await cache.flush() }
        }
        await cache.flush()
    }
}

/// The store in C.
enum StorePeer {
    /// Opens an existing store, or an empty one that Diamond creates.
    static func open(_ directory: URL, isHanded: Bool) throws -> OpaquePointer {
        _ = try Cache.onDisk(directory)
        guard let peer = store_peer_open(Store(directory: directory).cachePath, isHanded) else {
            throw Failure("C cannot open a store in \(directory.path)")
        }
        return peer
    }
}
