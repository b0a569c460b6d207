import CPeers
import Diamond
import Foundation

extension Benchmark {
    static let diskGets = DiskGet.Size.allCases.map { size in
        Benchmark(
            name: "disk-get-\(size.rawValue)",
            method: "processor time of a lookup of a used entry on disk, to C on the same file, statement and checks",
            unit: "x C",
            target: .atMost(1.25),
            measure: { try await Scratch.with { try await DiskGet(size, directory: $0).ratio(isChecked: true) } }
        )
    }

    static let uncheckedDiskGets = [DiskGet.Size.hundredKiB, .oneMiB].map { size in
        Benchmark(
            name: "disk-get-\(size.rawValue)-unchecked",
            method: "processor time of a lookup of a used entry on disk, to C without any checksum",
            unit: "x C",
            target: .atMost(1.15),
            measure: { try await Scratch.with { try await DiskGet(size, directory: $0).ratio(isChecked: false) } }
        )
    }
}

/// The checksum of both sides.
@_cdecl("diamond_xxh3") func xxh3(_ bytes: UnsafeRawPointer?, _ count: Int) -> UInt64 {
    XXH3.hash(UnsafeRawBufferPointer(start: bytes, count: count))
}

/// Random lookups in a store of up to 100 MB, by Diamond and by C.
private struct DiskGet {
    enum Size: String, CaseIterable {
        case oneKiB = "1k"
        case tenKiB = "10k"
        case hundredKiB = "100k"
        case oneMiB = "1m"

        var bytes: Int {
            switch self {
            case .oneKiB: 1 << 10
            case .tenKiB: 10 << 10
            case .hundredKiB: 100 << 10
            case .oneMiB: 1 << 20
            }
        }

        var entryCount: Int { min(20_000, 100 << 20 / bytes) }
        /// The number of lookups in a round, which takes some tenths of a second.
        var lookUps: Int { min(20_000, 1 << 30 / (bytes * 4)) }
    }

    private let size: Size
    private let path: String
    private let cache: Cache
    private let entries: [CacheEntry]

    init(_ size: Size, directory: URL) async throws {
        self.size = size
        path = Store(directory: directory).cachePath
        cache = try .onDisk(directory)
        entries = (0..<size.entryCount).map { Entries.make($0, bodySize: size.bytes) }
        try await cache.fill(with: entries)
    }

    /// - Parameter isChecked: whether C verifies checksums.
    func ratio(isChecked: Bool) async throws -> Double {
        guard let peer = disk_peer_open(path, isChecked) else { throw Failure("C cannot open \(path)") }
        defer { disk_peer_close(peer) }
        let order = (0..<size.lookUps).map { _ in Int.random(in: 0..<entries.count) }
        return try await Race(ours: { try ours(order) }, peer: { try theirs(order, peer) }).ratio(of: \.processor)
    }

    private func ours(_ order: [Int]) throws {
        for index in order {
            let found = try cache.findOnDisk(entries[index].key, request: entries[index].request)
            guard found?.body.count == size.bytes else { throw Failure("Diamond did not find entry \(index)") }
        }
    }

    private func theirs(_ order: [Int], _ peer: OpaquePointer) throws {
        for index in order {
            try entries[index].withQuestion { found in
                guard disk_peer_get(peer, &found), found.body_size == size.bytes, found.is_visited else {
                    throw Failure("C did not find entry \(index)")
                }
                disk_peer_free(&found)
            }
        }
    }
}
