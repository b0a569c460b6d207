import Diamond
import Foundation

/// A check of ``CacheStorageSuite`` that runs: the instances of two processes, and short forms of their verbs.
struct CacheStorageRun: ContractRun {
    /// Retained until the check has ended, because a place may remove its files when it is freed.
    let place: any CacheStorageSuite.Place
    let storage: any CacheStorage
    /// The instance of another process.
    let other: any CacheStorage
    let now: WallTime

    // MARK: Entries

    /// Returns the key with a name.
    func key(_ name: String) throws -> RequestKey {
        let digits = name.utf8.map { "0\(String($0, radix: 16))".suffix(2) }.joined()
        return try require(
            RequestKey(digits + String(repeating: "0", count: 64 - digits.count)), "the name '\(name)' is no key")
    }

    /// Returns an entry of `https://api.test/NAME`.
    ///
    /// - Parameter age: the milliseconds since it was stored; it was requested 10 milliseconds before.
    func entry(
        _ name: String, body: Data = Data("body".utf8), age: Int64 = 0, lifetime: Int64? = 60_000,
        flags: StoredResponse.Flags = .hasValidator, tags: Tags = [], identity: String? = nil,
        of requestKey: String? = nil
    ) throws -> CacheEntry {
        let stored = StoredResponse(
            status: 200, headerBlock: Data("Name: \(name)\r\n".utf8), body: body, storedAt: now - age, initialAge: 0,
            lifetime: lifetime, flags: flags, duration: 10)
        var entry = CacheEntry(
            key: try key(name), request: Array("GET \(name)".utf8), url: "https://api.test/\(name)", method: "GET",
            identity: identity, stored: stored, tags: tags)
        entry.requestKey = try requestKey.map(key)
        return entry
    }

    // MARK: Verbs

    @discardableResult
    func store(_ entries: CacheEntry..., in storage: (any CacheStorage)? = nil) async throws -> [RequestKey] {
        let steps = entries.map { CacheStep.store(CacheRecord($0)) }
        return try await (storage ?? self.storage).write(CacheBatch(steps)).vanished
    }

    /// Returns the record with a name, with its body, as another process reads it.
    func record(_ name: String) async throws -> CacheRecord? {
        let key = try key(name)
        return try await other.records(under: key, bodyLimit: .max).first { $0.key == key }
    }

    /// Expects that a stored record is that of an entry.
    func expectStored(_ name: String, as entry: CacheEntry, isStale: Bool = false) async throws {
        let record = try require(try await record(name), "the record '\(name)' is missing")
        let expected = CacheRecord(entry)
        try expectEqual(record.version, expected.version, "the version of '\(name)'")
        try expectEqual(Set(record.names), Set(expected.names), "the set of names of '\(name)'")
        try expectEqual(record.chunks, expected.chunks, "the body of '\(name)'")
        try expectEqual(record.isStale, isStale, "the mark of '\(name)'")
        try expect(record.isSound, "the record '\(name)' is damaged")
    }

    func expectMissing(_ names: String...) async throws {
        for name in names { try expect(try await record(name) == nil, "the record '\(name)' is still there") }
    }

    /// Returns the names of the records that are marked stale, of some.
    func stale(among names: [String]) async throws -> [String] {
        var stale: [String] = []
        for name in names { if try await record(name)?.isStale == true { stale.append(name) } }
        return stale
    }

    // MARK: Announcements

    /// Returns the names that the other process is told of since a position; `nil` if anything may have changed. It
    /// waits up to two seconds for any.
    func announced(since position: ChangePosition) async throws -> ChangedNames? {
        var last = position
        var all = ChangedNames()
        for _ in 0..<400 {
            let changes = try other.changes(since: last)
            last = changes.position
            guard let names = changes.names else { return nil }
            all.formUnion(names)
            if !all.isEmpty { return all }
            try await Task.sleep(for: .milliseconds(5))
        }
        return all
    }
}
