#if Valkey
import Diamond
import DiamondSQLite
import DiamondTestSupport
import Foundation

@testable import DiamondValkey

extension CacheEntry {
    /// An entry of `https://api.test/NUMBER`.
    static func sample(
        _ number: Int, body: Data = Data("body".utf8), tags: Tags = [], storedAt: WallTime = .now
    ) throws -> CacheEntry {
        let digits = String(number, radix: 16)
        let text = String(repeating: "0", count: 16 - digits.count) + digits + String(repeating: "0", count: 48)
        let stored = StoredResponse(
            status: 200, headerBlock: Data("Number: \(number)\r\n".utf8), body: body, storedAt: storedAt, initialAge: 0,
            lifetime: 60_000, flags: .hasValidator, duration: 10)
        return CacheEntry(
            key: try RequestKey.sample(text), request: Array("GET \(number)".utf8), url: "https://api.test/\(number)",
            method: "GET", stored: stored, tags: tags)
    }
}

extension RequestKey {
    struct Wrong: Error {}

    static func sample(_ text: String) throws -> RequestKey {
        guard let key = RequestKey(text) else { throw Wrong() }
        return key
    }
}

extension ValkeyStorage {
    var isConnected: Bool { watch.withLock { $0.connectedAt != nil } }

    @discardableResult
    func store(_ entries: CacheEntry...) async throws -> [RequestKey] {
        try await write(CacheBatch(entries.map { .store(CacheRecord($0)) })).vanished
    }

    func record(_ entry: CacheEntry) async throws -> CacheRecord? {
        try await records(under: entry.key, bodyLimit: .max).first { $0.key == entry.key }
    }

    /// Waits until changes are reported, and returns them; `nil` if anything may have changed.
    func changed(since position: Int64) async -> ChangedNames? {
        await untilTrue {
            let changes = try? changes(since: position)
            return changes?.names?.isEmpty != true
        }
        return (try? changes(since: position))?.names
    }
}
#endif
