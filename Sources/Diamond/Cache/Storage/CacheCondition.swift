/// The condition by which a storage selects records.
public enum CacheCondition: Hashable, Sendable {
    case all
    /// The records with these keys.
    case keys([RequestKey])
    /// The records that have a name (``CacheRecord/names``).
    case name(String)
    /// The records whose URLs begin with a prefix (``CacheRecord/url``). In a sealed store, it selects none.
    case urlPrefix(String)
    /// The records that arrived, or were last confirmed, before a time (``CacheRecord/storedAt``).
    case storedBefore(Int64)
    /// The records whose ``CacheRecord/expiry`` is before a time.
    case expired(Int64)

    static func tag(_ name: String) -> String { "t \(name)" }
    static func url(_ url: String) -> String { "u \(url)" }
    static func host(_ host: some StringProtocol) -> String { "h \(host)" }
    static func identity(_ identity: String) -> String { "i \(identity)" }

    /// Whether it selects a record: the meaning of the condition, for storages in memory.
    public func includes(_ record: CacheRecord) -> Bool {
        switch self {
        case .all: true
        case .keys(let keys): keys.contains(record.key)
        case .name(let name): record.names.contains { $0.isExactly(name) }
        case .urlPrefix(let prefix): record.url.utf8.starts(with: prefix.utf8)
        case .storedBefore(let time): record.storedAt < time
        case .expired(let time): record.expiry.map { $0 < time } ?? false
        }
    }
}

extension CacheSelection {
    /// The condition by which a storage selects the same records.
    public var condition: CacheCondition {
        switch criterion {
        case .all: .all
        case .key(let key): .keys([key])
        // A storage of records keeps no partial entries.
        case .keys(let keys, let isPartial): .keys(isPartial == true ? [] : keys)
        case .tag(let name): .name(CacheCondition.tag(name))
        case .identity(let identity): .name(CacheCondition.identity(identity))
        case .url(let url): .name(CacheCondition.url(url))
        case .urlPrefix(let prefix): .urlPrefix(prefix)
        case .host(let host), .sealedHost(let host): .name(CacheCondition.host(host))
        case .sealedIdentities: .keys([])
        case .storedBefore(let time): .storedBefore(time.rawValue)
        case .expired(let time): .expired(time.rawValue)
        }
    }
}

/// A number of records, and the responses among them (``CacheRecord/isResponse``).
public struct CacheRecordCount: Hashable, Sendable {
    public private(set) var records = 0
    public private(set) var responses = 0
    /// Whether all records are counted.
    public private(set) var isComplete = true

    /// Creates a count of no records.
    public init() {}

    /// A count of no records, although there may be some.
    public static let unknown: Self = {
        var count = Self()
        count.isComplete = false
        return count
    }()

    /// Counts a record.
    public mutating func add(isResponse: Bool) {
        records += 1
        if isResponse { responses += 1 }
    }

    mutating func add(flags: Int64) { add(isResponse: !StoredResponse.Flags(rawValue: flags).contains(.variants)) }

    /// Adds another count.
    public static func += (count: inout Self, other: Self) {
        count.records += other.records
        count.responses += other.responses
        count.isComplete = count.isComplete && other.isComplete
    }
}
