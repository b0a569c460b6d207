public import Foundation

/// Which entries to invalidate, purge or count.
///
/// ```swift
/// try await engine.cache?.invalidate(.tag("cities"))
/// try await engine.cache?.purge(.host("api.example.com"))
/// ```
public struct CacheSelection: Hashable, Sendable {
    enum Content: Hashable, Sendable {
        case all
        case key(RequestKey)
        /// Of a key that has a partial entry beside the whole one, one of them, or, where nothing is said, both.
        case keys([RequestKey], isPartial: Bool?)
        case tag(String)
        case identity(String)
        case url(String)
        case urlPrefix(String)
        case host(String)
        /// Sealed ones, by the digest of their host.
        case sealedHost(String)
        case storedBefore(Int64)
        case expired(Int64)
    }

    let content: Content

    /// Whether it names what is sealed at rest: in a sealed store it finds nothing without the key.
    package var needsKey: Bool {
        switch content {
        case .tag, .identity, .url, .urlPrefix, .host: true
        case .all, .key, .keys, .sealedHost, .storedBefore, .expired: false
        }
    }

    /// What it names in memories; `nil` where that cannot be told without the file.
    ///
    /// - Parameter number: ``CacheFile/number(of:)``.
    func names(by number: (String) -> Int64) -> CacheNames? {
        switch content {
        case .key(let key): CacheNames(keys: [key.prefix])
        case .keys(let keys, _): CacheNames(keys: Set(keys.map(\.prefix)))
        case .url(let url): CacheNames(urls: [number(url)])
        case .all, .tag, .identity, .urlPrefix, .host, .sealedHost, .storedBefore, .expired: nil
        }
    }

    /// Keys in one of the ``groups(of:isPartial:)``.
    private static let groupSize = 250

    /// Selections that together name what has some keys, each of no more than one statement takes.
    static func groups(of keys: [RequestKey], isPartial: Bool? = nil) -> [CacheSelection] {
        stride(from: 0, to: keys.count, by: groupSize).map { start in
            let group = Array(keys[start..<min(start + groupSize, keys.count)])
            return CacheSelection(content: .keys(group, isPartial: isPartial))
        }
    }

    /// Every entry.
    public static let all = CacheSelection(content: .all)

    /// The entry of a request: ``Engine/key(of:)`` tells its key.
    public static func key(_ key: RequestKey) -> CacheSelection { CacheSelection(content: .key(key)) }

    /// Those whose requests had the tag.
    public static func tag(_ name: String) -> CacheSelection { CacheSelection(content: .tag(name)) }

    /// Those that were asked for on behalf of an identity.
    public static func identity(_ identity: String) -> CacheSelection { CacheSelection(content: .identity(identity)) }

    /// Those whose URLs, in normal form, begin with this, such as `https://api.example.com/v1/`.
    public static func url(prefix: String) -> CacheSelection {
        prefix.isEmpty ? .all : CacheSelection(content: .urlPrefix(prefix))
    }

    /// Those of exactly this URL in normal form, whatever their method, headers and body. No entry's URL has parameters that
    /// the engine's ``IdentityRules`` ignore, nor a fragment or user info.
    public static func url(_ url: String) -> CacheSelection { CacheSelection(content: .url(url)) }

    /// Those of a host, whatever scheme and port: `api.example.com`.
    public static func host(_ host: String) -> CacheSelection {
        CacheSelection(content: .host(host.lowercased()))
    }

    /// Those that arrived, or were last confirmed, before an instant: `.stored(before: .now - 7 * 86_400)`.
    public static func stored(before date: Date) -> CacheSelection { .stored(before: date.milliseconds) }

    /// The same.
    ///
    /// - Parameter milliseconds: since 1970.
    package static func stored(before milliseconds: Int64) -> CacheSelection {
        CacheSelection(content: .storedBefore(milliseconds))
    }

    /// Those that are past their lifetime and cannot be confirmed: what eviction takes first.
    ///
    /// - Parameter milliseconds: now, since 1970.
    package static func expired(at milliseconds: Int64) -> CacheSelection {
        CacheSelection(content: .expired(milliseconds))
    }
}
