import DiamondTestSupport
import DiamondTesting
import Foundation

@testable import Diamond

/// Entries whose bodies identify the entry and the version at every offset.
enum FaultEntries {
    static func entry(_ number: Int, size: Int, version: Int = 1) throws -> CacheEntry {
        let url = "http://h/\(number)"
        let form = try CanonicalForm(of: Request(url), rules: KeyRules())
        var stored = StoredResponse.stub(lifetime: 60_000, flags: .hasValidator, initialAge: 3)
        stored.headerBlock = Data("ETag: \"\(number)-\(version)\"\n".utf8)
        stored.body = body(size: size, seed: UInt64(number * 1000 + version))
        return CacheEntry(key: form.key, request: form.bytes, url: url, method: "GET", stored: stored)
    }

    private static func body(size: Int, seed: UInt64) -> Data {
        var random = SplitMix(state: seed)
        var words = [UInt64](repeating: 0, count: size / 8 + 1)
        for index in words.indices { words[index] = random.next() }
        return words.withUnsafeBytes { Data($0.prefix(size)) }
    }
}

/// The entries stored under each key, which are the allowed results of a lookup.
struct FaultRecord {
    /// The versions of each entry, the newest last.
    private(set) var versions: [RequestKey: [CacheEntry]] = [:]
    /// Results whose body was never stored under their key, and results in which only other fields are wrong.
    private(set) var wrongBodies: [String] = []
    private(set) var wrongHeads: [String] = []

    mutating func note(_ entry: CacheEntry) { versions[entry.key, default: []].append(entry) }

    /// Looks every key up. Each result must be a stored version, or nothing.
    mutating func check(_ cache: Cache, _ place: @autoclosure () -> String) {
        for (key, versions) in versions {
            guard let request = versions.first?.request, let found = cache.find(key, request: request) else { continue }
            let stored = versions.map(\.stored)
            if !stored.contains(where: { $0.body == found.body }) {
                wrongBodies.append("\(place()): \(versions[0].url), \(found.body.count) bytes")
            } else if !stored.contains(where: { $0.guarded == found.guarded }) {
                wrongHeads.append("\(place()): \(versions[0].url), \(found)")
            }
        }
    }
}

extension StoredResponse {
    /// The entry without the flags that are set in many rows at once, which no checksum covers.
    fileprivate var guarded: StoredResponse {
        var stored = self
        stored.flags.formIntersection(Checksum.coveredFlags)
        return stored
    }
}
