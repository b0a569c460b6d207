public import Foundation

/// The changes that processes have announced since a position.
public struct CacheChanges: Sendable {
    /// The position after them. Positions grow, and are unique for each announcement of the store.
    public var position: ChangePosition
    /// The names of the changed entries; `nil` if anything may have changed.
    public var names: ChangedNames?
    /// Whether the store may have partial entries.
    var hasParts = false
    /// A number that changes when the store was replaced by another one.
    var generation = 0

    /// Creates changes.
    public init(position: ChangePosition, names: ChangedNames?) {
        self.position = position
        self.names = names
    }
}

/// The names of changed entries, for the memory tiers of all processes: the prefixes of the entries' keys, and the
/// hashes of URLs. If another entry or URL has the same prefix or hash, it is read again, too.
public struct ChangedNames: Hashable, Sendable {
    /// The first 64 bits of keys.
    public var keys: Set<Int64> = []
    /// ``CacheCoding/urlHash(of:)``.
    package var urls: Set<Int64> = []

    /// Creates names of nothing.
    public init() {}

    package init(keys: Set<Int64> = [], urls: Set<Int64>) {
        self.keys = keys
        self.urls = urls
    }

    init(keys: Set<Int64>) { self.keys = keys }

    /// Creates the name of a record with a key.
    public init(_ key: RequestKey) { keys = [key.prefix] }

    public var isEmpty: Bool { keys.isEmpty && urls.isEmpty }

    /// Adds other names.
    public mutating func formUnion(_ other: ChangedNames) {
        keys.formUnion(other.keys)
        urls.formUnion(other.urls)
    }

    /// The names as bytes, for announcements.
    public var data: Data {
        var data = Data()
        for number in [Int64(keys.count)] + keys.sorted() + urls.sorted() {
            withUnsafeBytes(of: number.littleEndian) { data.append(contentsOf: $0) }
        }
        return data
    }

    /// Creates names from their bytes; `nil` for any others.
    public init?(_ data: Data) {
        guard data.count >= 8, data.count % 8 == 0 else { return nil }
        let numbers = data.withUnsafeBytes { bytes in
            stride(from: 0, to: bytes.count, by: 8).map {
                Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: $0, as: Int64.self))
            }
        }
        guard let count = Int(exactly: numbers[0]), (0..<numbers.count).contains(count) else { return nil }
        keys = Set(numbers[1...].prefix(count))
        urls = Set(numbers[1...].dropFirst(count))
    }
}
