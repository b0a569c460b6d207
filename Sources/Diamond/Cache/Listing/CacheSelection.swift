public import Foundation

/// The entries to invalidate, purge or count.
///
/// ```swift
/// try await engine.cache?.invalidate(.tag("cities"))
/// try await engine.cache?.purge(.host("api.example.com"))
/// ```
public struct CacheSelection: Hashable, Sendable {
    enum Criterion: Hashable, Sendable {
        case all
        case key(RequestKey)
        /// The entries of some keys. A key may have a partial entry and a whole one: `isPartial` names one of them,
        /// `nil` both.
        case keys([RequestKey], isPartial: Bool?)
        case tag(String)
        case identity(String)
        case url(String)
        case urlPrefix(String)
        case host(String)
        /// The sealed entries of a host, by the digest of the host.
        case sealedHost(String)
        /// The sealed entries with any identity: those of some keys, and those whose identity is lost.
        case sealedIdentities(keyIDs: [String])
        case storedBefore(WallTime)
        case expired(WallTime)
    }

    let criterion: Criterion

    /// Whether it selects by a value that a sealed store seals. It then finds nothing without the key.
    package var needsKey: Bool {
        switch criterion {
        case .tag, .identity, .url, .urlPrefix, .host: true
        case .all, .key, .keys, .sealedHost, .sealedIdentities, .storedBefore, .expired: false
        }
    }

    /// Returns the names of its entries for the memory tiers; `nil` if only the file can tell them.
    ///
    /// - Parameter urlHash: ``CacheCoding/urlHash(of:)``.
    func names(by urlHash: (String) -> Int64) -> ChangedNames? {
        switch criterion {
        case .key(let key): ChangedNames(keys: [key.prefix])
        case .keys(let keys, _): ChangedNames(keys: Set(keys.map(\.prefix)))
        case .url(let url): ChangedNames(urls: [urlHash(url)])
        case .all, .tag, .identity, .urlPrefix, .host, .sealedHost, .sealedIdentities, .storedBefore, .expired: nil
        }
    }

    /// The number of keys in one of the ``groups(of:isPartial:)``.
    private static let groupSize = 250

    /// Returns selections that together name the entries of some keys. Each has no more keys than one statement takes.
    static func groups(of keys: [RequestKey], isPartial: Bool? = nil) -> [CacheSelection] {
        stride(from: 0, to: keys.count, by: groupSize).map { start in
            let group = Array(keys[start..<min(start + groupSize, keys.count)])
            return CacheSelection(criterion: .keys(group, isPartial: isPartial))
        }
    }

    /// Every entry.
    public static let all = CacheSelection(criterion: .all)

    /// Selects the entry of a request. ``Engine/key(of:)`` returns its key.
    public static func key(_ key: RequestKey) -> CacheSelection { CacheSelection(criterion: .key(key)) }

    /// Selects the entries whose requests had the tag.
    public static func tag(_ name: String) -> CacheSelection { CacheSelection(criterion: .tag(name)) }

    /// Selects the variants of a request.
    package static func variants(of key: RequestKey) -> CacheSelection { .tag(CacheEntry.name(ofVariantsUnder: key)) }

    /// Selects the entries that were requested for an identity.
    public static func identity(_ identity: String) -> CacheSelection { CacheSelection(criterion: .identity(identity)) }

    /// Selects the entries whose URLs, in normal form, begin with a prefix, such as `https://api.example.com/v1/`.
    public static func url(prefix: String) -> CacheSelection {
        prefix.isEmpty ? .all : CacheSelection(criterion: .urlPrefix(prefix))
    }

    /// Selects the entries of exactly this URL in normal form, with any method, headers and body. No entry's URL has a
    /// fragment, user info, or parameters that the engine's ``IdentityRules`` ignore.
    public static func url(_ url: String) -> CacheSelection { CacheSelection(criterion: .url(url)) }

    /// Selects the entries of a host, such as `api.example.com`, with any scheme and port.
    public static func host(_ host: String) -> CacheSelection {
        CacheSelection(criterion: .host(host.lowercased()))
    }

    /// Selects the entries that arrived, or were last confirmed, before an instant:
    /// `.stored(before: .now - 7 * 86_400)`.
    public static func stored(before date: Date) -> CacheSelection { .stored(before: WallTime(date)) }

    /// Selects the entries that arrived, or were last confirmed, before a time.
    package static func stored(before time: WallTime) -> CacheSelection {
        CacheSelection(criterion: .storedBefore(time))
    }

    /// Selects the entries that are past their lifetime, have no validator and are not pinned. Eviction removes these
    /// before others.
    package static func expired(at now: WallTime) -> CacheSelection {
        CacheSelection(criterion: .expired(now))
    }
}
