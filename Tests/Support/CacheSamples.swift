package import Diamond
package import Foundation
import Testing

/// Entries for the tests of storages on servers.
extension CacheEntry {
    /// An entry of `https://api.test/NUMBER`.
    package static func sample(
        _ number: Int, body: Data = Data("body".utf8), tags: Tags = [], storedAt: WallTime = .now,
        lifetime: Int64? = 60_000, flags: StoredResponse.Flags = .hasValidator
    ) throws -> CacheEntry {
        let digits = String(number, radix: 16)
        let text = String(repeating: "0", count: 16 - digits.count) + digits + String(repeating: "0", count: 48)
        let stored = StoredResponse(
            status: 200, headerBlock: Data("Number: \(number)\r\n".utf8), body: body, storedAt: storedAt, initialAge: 0,
            lifetime: lifetime, flags: flags, duration: 10)
        return CacheEntry(
            key: try RequestKey.sample(text), request: Array("GET \(number)".utf8), url: "https://api.test/\(number)",
            method: "GET", stored: stored, tags: tags)
    }

    /// 300,000 bytes: three chunks.
    package static let largeBody = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 10) })
}

extension RequestKey {
    package struct Wrong: Error {}

    package static func sample(_ text: String) throws -> RequestKey {
        guard let key = RequestKey(text) else { throw Wrong() }
        return key
    }
}

extension StoredResponse {
    /// The head of a response with the status 200, without a lifetime.
    package static func head(_ block: String, at time: WallTime) -> StoredResponse {
        StoredResponse(
            status: 200, headerBlock: Data(block.utf8), body: Data(), storedAt: time, initialAge: 0, lifetime: nil,
            flags: [])
    }
}

extension CacheStorage {
    @discardableResult
    package func store(_ entries: CacheEntry...) async throws -> [RequestKey] {
        try await write(CacheBatch(entries.map { .store(CacheRecord($0)) })).vanished
    }

    package func record(_ entry: CacheEntry) async throws -> CacheRecord? {
        try await records(under: entry.key, bodyLimit: .max).first { $0.key == entry.key }
    }

    /// Waits until changes are reported, and returns them; `nil` if anything may have changed.
    package func changed(since position: ChangePosition) async -> ChangedNames? {
        await untilTrue {
            let changes = try? changes(since: position)
            return changes?.names?.isEmpty != true
        }
        return (try? changes(since: position))?.names
    }

    /// Invalidates an entry of another process's storage, which has read it, five times.
    ///
    /// - Parameter reportsStores: whether the other storage also reports the stores of entries.
    /// - Returns: the shortest time until the other process knew.
    package func delay(
        ofInvalidating selection: CacheSelection, in other: some CacheStorage, reportsStores: Bool
    ) async throws -> Duration {
        let entry = try CacheEntry.sample(1, tags: ["cities"])
        try await store(entry)
        var delays: [Duration] = []
        for _ in 0..<5 {
            #expect(try await other.record(entry)?.isStale == false)
            let position = try other.changes(since: nil).position
            _ = try await invalidate([selection], announcing: nil)
            let start = ContinuousClock.now
            let names = await other.changed(since: position)
            delays.append(ContinuousClock.now - start)
            #expect(names.map { $0.keys.contains(entry.key.prefix) } ?? true)
            #expect(try await other.record(entry)?.isStale == true)
            let later = try other.changes(since: nil).position
            try await store(entry)
            if reportsStores { _ = await other.changed(since: later) }
        }
        return try #require(delays.min())
    }
}
