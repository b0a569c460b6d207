import DiamondTestSupport
import DiamondTesting
import Foundation

@testable import Diamond

extension Shell {
    /// Puts entries into the store without a server, as a program would; each a second older than the one before.
    func store(_ entries: [StoredEntry]) async throws {
        weak let file = try await write(entries)
        // What has it open keeps others from changing what it is.
        await untilTrue { file == nil }
    }

    private func write(_ entries: [StoredEntry]) async throws -> CacheFile {
        let cache = try Cache(temporary.store, memoryCapacity: 0, diskCapacity: .max)
        let now = WallTime.now
        for (index, entry) in entries.enumerated() {
            cache.store(try entry.cacheEntry(storedAt: now - Int64(index) * 1000, cache.rules))
        }
        await cache.flush()
        return try cache.file
    }

    func object(_ arguments: String...) async throws -> [String: Any]? {
        let outcome = try await self(arguments + ["--json"])
        return try JSONSerialization.jsonObject(with: outcome.output) as? [String: Any]
    }
}

struct StoredEntry {
    var url: String
    var status = 200
    var headers = "ETag: \"1\"\n"
    var body = Data("body".utf8)
    var tags: Tags = []
    var identity: String?
    /// Milliseconds before the others.
    var age: Int64 = 0
    var lifetime: Int64? = 60_000
    var flags: StoredResponse.Flags = .hasValidator

    func cacheEntry(storedAt: WallTime, _ rules: KeyRules) throws -> CacheEntry {
        var request = Request(url)
        request.identity = identity
        let form = try CanonicalForm(of: request, rules: rules)
        let stored = StoredResponse(
            status: status, headerBlock: Data(headers.utf8), body: body, storedAt: storedAt - age, initialAge: 0,
            lifetime: lifetime, flags: flags, duration: 100)
        return CacheEntry(
            key: form.key, request: form.bytes, url: url, method: "GET", identity: identity, stored: stored, tags: tags)
    }
}
