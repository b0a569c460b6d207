import CPeers
import Diamond
import Foundation

extension Benchmark {
    static let diskGet = Benchmark(
        name: "disk-get-1k",
        method: "processor time of a look-up of a 1 KiB entry on disk, to C on the same file, statement and checks",
        unit: "x C",
        target: .atMost(1.5),
        measure: { try await Scratch.with { try await DiskGet(directory: $0).ratio() } }
    )
}

/// Random look-ups in a store of 20,000 entries, by Diamond and by C.
private struct DiskGet {
    private static let entryCount = 20_000
    private static let lookUps = 20_000

    private let store: Store
    private let cache: Cache
    private let entries: [CacheEntry]

    init(directory: URL) async throws {
        store = Store(directory: directory)
        // Nothing in memory: every look-up is the disk tier's.
        cache = try Cache(store, memoryCapacity: 0)
        entries = (0..<Self.entryCount).compactMap(Self.entry)
        for (index, entry) in entries.enumerated() {
            cache.store(entry)
            if index % 1000 == 999 { await cache.flush() }
        }
    }

    private static func entry(_ number: Int) -> CacheEntry? {
        var generator = SystemRandomNumberGenerator()
        let url = "https://api.example.com/v1/cities?country=DE&page=\(number)&perPage=50"
        let headers = """
            Server: nginx
            Date: Tue, 07 Jan 2025 08:00:00 GMT
            Content-Type: application/json
            Content-Length: 1024
            Cache-Control: max-age=3600
            ETag: "\(number)"

            """
        let digest = Data((0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) })
        guard let key = RequestKey(stored: digest) else { return nil }
        return CacheEntry(
            key: key,
            request: Array("GET\n\(url)\naccept: application/json\n".utf8),
            url: url,
            method: "GET",
            stored: StoredResponse(
                status: 200,
                headerBlock: Data(headers.utf8),
                body: Data((0..<1024).map { _ in UInt8.random(in: 0x20...0x7E, using: &generator) }),
                storedAt: 1_736_236_800_000,
                initialAge: 0,
                lifetime: 3_600_000,
                flags: .hasValidator
            )
        )
    }

    func ratio() async throws -> Double {
        guard let peer = disk_peer_open(store.cachePath) else { throw Failure("C cannot open \(store.cachePath)") }
        defer { disk_peer_close(peer) }
        let order = (0..<Self.lookUps).map { _ in Int.random(in: 0..<entries.count) }
        return try await Race(ours: { try ours(order) }, peer: { try theirs(order, peer) }).ratio(of: \.processor)
    }

    private func ours(_ order: [Int]) throws {
        for index in order {
            let found = try cache.findOnDisk(entries[index].key, request: entries[index].request)
            guard found?.body.count == 1024 else { throw Failure("Diamond did not find entry \(index)") }
        }
    }

    private func theirs(_ order: [Int], _ peer: OpaquePointer) throws {
        for index in order {
            var found = disk_peer_entry()
            let isFound = entries[index].key.bytes.withUnsafeBytes { key in
                entries[index].request.withUnsafeBufferPointer { request in
                    let start = key.bindMemory(to: UInt8.self).baseAddress
                    return disk_peer_get(peer, start, request.baseAddress, request.count, &found)
                }
            }
            guard isFound, found.body_size == 1024 else { throw Failure("C did not find entry \(index)") }
            disk_peer_free(&found)
        }
    }
}
