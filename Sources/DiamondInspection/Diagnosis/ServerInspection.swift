package import Diamond

/// The results of an inspection of a cache.
package protocol CacheInspecting: Sendable {
    /// The number of entries read.
    var entries: Int { get }
    /// The number of bytes of their bodies.
    var bodyBytes: Int64 { get }
    var findings: [CacheFinding] { get }
    /// The number of sealed entries compared only with their checksums, because no key here opens them.
    var locked: Int { get }

    /// Repairs the findings.
    func repair() async throws(CacheError) -> [CacheRepair]
}

extension CacheInspection: CacheInspecting {}

/// An inspection of all entries of a server. It compares them with their checksums.
package struct ServerInspection: CacheInspecting {
    package private(set) var entries = 0
    package private(set) var bodyBytes: Int64 = 0
    package private(set) var findings: [CacheFinding] = []
    package private(set) var locked = 0
    private let cache: Cache

    /// Reads the entries. Changes nothing.
    ///
    /// - Parameters:
    ///   - cache: the cache of a server.
    ///   - progress: receives the number of entries read, after each one.
    package init(of cache: Cache, progress: (_ count: Int) -> Void = { _ in }) throws(CacheError) {
        self.cache = cache
        try cache.inspectRecords { record in
            let listing = record.listing
            entries += 1
            progress(entries)
            bodyBytes = bodyBytes.addingSaturating(max(0, listing.bodySize))
            if record.isLocked { locked += 1 }
            guard let damage = record.damage else { return }
            findings.append(CacheFinding(kind: .entry, key: listing.key, url: listing.url, what: damage))
        }
    }

    /// Erases the damaged entries.
    package func repair() async throws(CacheError) -> [CacheRepair] {
        var repairs: [CacheRepair] = []
        for finding in findings {
            let isDropped = if let key = finding.key { try await cache.purge(.key(key)) > 0 } else { false }
            repairs.append(CacheRepair(finding: finding, action: isDropped ? "dropped" : nil))
        }
        return repairs
    }
}
