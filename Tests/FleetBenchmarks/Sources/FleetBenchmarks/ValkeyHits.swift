import CHiredis
import Diamond
import DiamondValkey
import Foundation

/// The processor time of a hit of 1 KiB in this process, beside that of hiredis for `GET` of the same bytes, over a Unix
/// socket. It includes kernel time. Each figure is the best of five rounds.
enum ValkeyHits {
    static let rows = [(name: "valkey-hit", width: 16, target: 2.0), ("valkey-hit-alone", 1, .infinity)].map { row in
        Row(
            name: row.name,
            method: "processor time of a hit of 1 KiB, \(row.width) at once, to hiredis' GET of the same bytes, alone",
            unit: "x hiredis", target: .atMost(row.target)
        ) { try await measure(atOnce: row.width) }
    }

    private static let rounds = 5
    private static let hits = 40_000

    private static func measure(atOnce width: Int) async throws -> (Double, [String]) {
        let path = try Failure.variable("DIAMOND_VALKEY_SOCKET")
        let storage = try ValkeyStorage("valkey+unix://\(path)")
        let entry = try sample()
        _ = try await storage.write(CacheBatch([.store(CacheRecord(entry))]))
        let peer = try hiredis(path)
        let own = try await hit(of: entry.key, in: storage, atOnce: width)
        return (own / peer, ["\(own) µs, hiredis \(peer) µs"])
    }

    private static func sample() throws -> CacheEntry {
        guard let key = RequestKey(String(repeating: "07", count: 32)) else { throw Failure("no key") }
        let stored = StoredResponse(
            status: 200, headerBlock: Data("Content-Type: application/json\r\n".utf8),
            body: Data(repeating: 120, count: 1024), storedAt: .now, initialAge: 0, lifetime: 60_000,
            flags: .hasValidator)
        return CacheEntry(
            key: key, request: Array("GET http://h/".utf8), url: "http://h/", method: "GET", stored: stored)
    }

    private static func hit(of key: RequestKey, in storage: ValkeyStorage, atOnce width: Int) async throws -> Double {
        var best = Double.infinity
        for _ in 0..<rounds {
            let start = processorTime()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<width {
                    group.addTask {
                        for _ in 0..<hits / width {
                            let records = try await storage.records(under: key, bodyLimit: 1 << 20)
                            guard records.first?.bodySize == 1024 else { throw Failure("a miss") }
                        }
                    }
                }
                try await group.waitForAll()
            }
            best = min(best, (processorTime() - start) / Double(hits) * 1e6)
        }
        return best
    }

    private static func hiredis(_ path: String) throws -> Double {
        guard let context = redisConnectUnix(path), context.pointee.err == 0 else {
            throw Failure("hiredis cannot connect")
        }
        defer { redisFree(context) }
        guard hiredis_set(context, "benchmark", String(repeating: "x", count: 1024)) == 1 else {
            throw Failure("hiredis sets no value")
        }
        var best = Double.infinity
        for _ in 0..<rounds {
            let start = processorTime()
            for _ in 0..<hits where hiredis_get(context, "benchmark") != 1024 {
                throw Failure("hiredis gets no value")
            }
            best = min(best, (processorTime() - start) / Double(hits) * 1e6)
        }
        return best
    }

    /// Returns the seconds of processor time of this process so far.
    private static func processorTime() -> Double { Double(clock()) / Double(CLOCKS_PER_SEC) }
}
