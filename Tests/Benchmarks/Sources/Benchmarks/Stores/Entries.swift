import CPeers
import Crypto
import Diamond
import Foundation

/// Entries like those of an API's responses.
enum Entries {
    /// 2025-01-07 08:00:00 UTC.
    static let storedAt = WallTime(rawValue: 1_736_236_800_000)

    /// - Parameter number: determines the URL, the key and the body.
    static func make(_ number: Int, bodySize: Int = 1024) -> CacheEntry {
        let url = "https://api.example.com/v1/cities?country=DE&page=\(number)&perPage=50"
        let request = Array("GET\n\(url)\naccept: application/json\n".utf8)
        guard let key = RequestKey(stored: Data(SHA256.hash(data: request))) else { fatalError("no key") }
        return CacheEntry(
            key: key,
            request: request,
            url: url,
            method: "GET",
            stored: stored(number, bodySize)
        )
    }

    private static func stored(_ number: Int, _ bodySize: Int) -> StoredResponse {
        let headers = """
            Server: nginx
            Date: Tue, 07 Jan 2025 08:00:00 GMT
            Content-Type: application/json
            Content-Length: \(bodySize)
            Cache-Control: max-age=3600
            ETag: "\(number)"

            """
        return StoredResponse(
            status: 200,
            headerBlock: Data(headers.utf8),
            body: body(number, bodySize),
            storedAt: storedAt,
            initialAge: 0,
            lifetime: 3_600_000,
            flags: .hasValidator,
            duration: 20
        )
    }

    private static func body(_ number: Int, _ size: Int) -> Data {
        var random = FastRandom(seed: UInt64(number))
        let words = (0..<(size + 7) / 8).map { _ in random.next() }
        return words.withUnsafeBytes { Data($0.prefix(size)) }
    }
}

/// The random generator SplitMix64, with the same numbers for the same seed.
struct FastRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension CacheEntry {
    /// The values that C needs for a lookup.
    func withQuestion<Result>(_ body: (inout disk_peer_entry) throws -> Result) rethrows -> Result {
        try key.bytes.withUnsafeBytes { key in
            try request.withUnsafeBufferPointer { request in
                var entry = disk_peer_entry()
                entry.key = key.bindMemory(to: UInt8.self).baseAddress
                entry.request = request.baseAddress
                entry.request_size = request.count
                return try body(&entry)
            }
        }
    }

    /// The values that C needs to store it.
    func withEntry(_ body: (inout disk_peer_entry) -> Void) {
        var (headers, content) = (stored.headerBlock, stored.body)
        withQuestion { entry in
            url.withCString { url in
                method.withCString { method in
                    headers.withUnsafeMutableBytes { headers in
                        content.withUnsafeMutableBytes { content in
                            (entry.url, entry.method) = (url, method)
                            entry.headers = headers.bindMemory(to: UInt8.self).baseAddress
                            entry.headers_size = headers.count
                            entry.body = content.bindMemory(to: UInt8.self).baseAddress
                            entry.body_size = content.count
                            fill(&entry)
                            body(&entry)
                        }
                    }
                }
            }
        }
    }

    private func fill(_ entry: inout disk_peer_entry) {
        entry.status = Int64(stored.status)
        entry.stored_at = stored.storedAt.rawValue
        entry.initial_age = stored.initialAge
        entry.has_lifetime = stored.lifetime != nil
        entry.lifetime = stored.lifetime ?? 0
        entry.flags = stored.flags.rawValue
        entry.duration = stored.duration
    }
}

extension Cache {
    /// Creates a cache with only the disk tier, and with a bound that is not reached.
    static func onDisk(_ directory: URL) throws -> Cache {
        try Cache(Store(directory: directory), memoryCapacity: 0, diskCapacity: 1 << 40)
    }

    /// Stores entries, and uses each once, so that no later use is the first.
    func fill(with entries: [CacheEntry]) async throws {
        var waiting = 0
        for entry in entries {
            store(entry)
            waiting += entry.stored.body.count
            guard waiting > 16 << 20 else { continue }
            await flush()
            waiting = 0
        }
        await flush()
        for entry in entries { _ = try findOnDisk(entry.key, request: entry.request) }
        await flush()
    }
}
