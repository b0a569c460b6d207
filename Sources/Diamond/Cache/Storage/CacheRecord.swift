public import Foundation

/// An entry in the form in which a storage keeps it: in clear, or sealed. Only its names, times, sizes and marks mean
/// something to a storage.
///
/// A storage keeps ``head``, ``isStale``, ``isPinned`` and ``chunks``, and whatever else it searches or sorts by. It
/// creates the record again from these.
public struct CacheRecord: Sendable {
    /// The entry, with texts and bytes in the form that is written. Its body is in ``body``.
    var entry: CacheEntry
    /// The name of the key that sealed it; `nil` in clear.
    let seal: String?
    let body: BodyRows
    /// The checksum that was read; `nil` for a record that is to be stored.
    private var readChecksum: Int64?
    /// The names of a record that was read.
    private var readNames: [String]?
    /// The row of a record that was read from a file.
    var row: Int64?
    /// The hash of its URL in ``ChangedNames/urls``, if it is sealed.
    var sealedURLHash: Int64?

    /// - Parameter checksum: the checksum that was read with it.
    init(_ entry: CacheEntry, seal: String?, body: BodyRows, checksum: Int64? = nil) {
        self.entry = entry
        self.seal = seal
        self.body = body
        readChecksum = checksum
    }

    init(_ entry: CacheEntry, seal: String?, chunks: [Data]) {
        self.init(entry, seal: seal, body: BodyRows(chunks: chunks))
    }

    /// The checksum over all values that a hit reads, as it was stored.
    var checksum: Int64 { readChecksum ?? entry.checksum(bodySize: body.size, digest: body.checksums.column) }
}

// MARK: For storages

extension CacheRecord {
    /// The key: at most one record has it.
    public var key: RequestKey { entry.key }

    /// The request key by which lookups find it: its own, or for a variant, the key of the request.
    public var requestKey: RequestKey { entry.requestKey ?? entry.key }

    /// The names by which ``CacheSelection/condition`` selects it: those of its tags, groups, identity, URL and host.
    /// In a sealed store, they are digests.
    public var names: [String] { readNames ?? entry.selectionNames }

    /// The URL by which lists are sorted, in normal form with secrets masked. In a sealed store, it is a digest.
    public var url: String { entry.url }

    /// A number that orders records with equal values in a list.
    public var id: Int64 { row ?? entry.key.prefix }

    /// A number that changes with every write of the record, except of the marks: a checksum of 64 bits.
    public var version: Int64 { checksum }

    /// Whether it was marked stale by an invalidation: a mark that is not part of ``head``.
    public var isStale: Bool {
        get { entry.stored.flags.contains(.invalidated) }
        set { mark(.invalidated, newValue) }
    }

    /// Whether Diamond's eviction spares it: a mark that is not part of ``head``.
    public var isPinned: Bool {
        get { entry.stored.flags.contains(.pinned) }
        set { mark(.pinned, newValue) }
    }

    private mutating func mark(_ flag: StoredResponse.Flags, _ isSet: Bool) {
        if isSet { entry.stored.flags.insert(flag) } else { entry.stored.flags.remove(flag) }
    }

    /// Whether it is a response. The index of the variants under a key is a record, and no response.
    public var isResponse: Bool { !entry.stored.flags.contains(.variants) }

    /// The time at which the response arrived or was last confirmed, in milliseconds since 1970.
    public var storedAt: Int64 { entry.stored.storedAt.rawValue }

    /// The time at which the response is stale, in milliseconds since 1970, if it has no validator and is not pinned:
    /// ``CacheCondition/expired(_:)`` selects it, and eviction takes it first. Otherwise `nil`.
    public var expiry: Int64? {
        guard let lifetime = entry.stored.lifetime, entry.stored.flags.isDisjoint(with: [.hasValidator, .pinned]) else {
            return nil
        }
        return (entry.stored.originTime + lifetime).rawValue
    }

    /// The time after which a server may drop the record, in milliseconds since 1970: a day after it is stale, which is
    /// the time that it may be served stale; 30 days if a validator can confirm it.
    public var retention: Int64 {
        let stale: Int64 = entry.stored.flags.isDisjoint(with: [.hasValidator, .variants]) ? 1 : 30
        return storedAt + max(0, (entry.stored.lifetime ?? 0) - entry.stored.initialAge) + stale * 86_400_000
    }

    /// Whether this stored record stays in the place of a new one: it was stored after the request of the new one was
    /// sent, and is newer.
    public func isNewer(than new: CacheRecord) -> Bool {
        entry.stored.storedAt > new.entry.stored.sentAt
            && entry.stored.isNewer(thanOrigin: new.entry.stored.originTime, sentAt: new.entry.stored.sentAt)
    }

    /// The three times that ``isNewer(than:)`` compares, for storages that compare in a script or in SQL: a stored
    /// record `old` stays in the place of `new` if `old.storedAt > new.sentAt` and
    /// `(old.originTime, old.sentAt) > (new.originTime, new.sentAt)`.
    public var originTime: Int64 { entry.stored.originTime.rawValue }

    /// The time at which the request was sent, in milliseconds since 1970.
    public var sentAt: Int64 { entry.stored.sentAt.rawValue }

    /// The position of the newest change that the process knew when the request was sent; `nil` if no later change
    /// makes the response stale.
    public var knownPosition: ChangePosition? { entry.knownChange }

    /// The hash of its URL in ``ChangedNames/urls``.
    package var urlHash: Int64 { sealedURLHash ?? CacheTable.hash(of: entry.url.withoutQuery) }

    /// Whether changes that another process has announced after ``knownPosition`` make the record stale.
    public func isOutdated(by names: ChangedNames?) -> Bool { names.map { $0.urls.contains(urlHash) } ?? true }

    /// The bytes of the body as stored.
    public var bodySize: Int { Int(body.size) }

    /// The number of the chunks of the body. Each has at most 128 KiB, before it is sealed.
    public var chunkCount: Int { body.checksums.count }

    /// The chunks of the body; none if the record was read without them.
    public var chunks: [Data] { body.chunks }

    /// The checksums of the chunks: records with the same one have the same body.
    public var bodyID: Data { body.checksums.column }

    /// XXH3 of ``bodyID``.
    package var bodyHash: UInt64 { bodyID.withUnsafeBytes { XXH3.hash($0) } }

    /// The other values of the record, which mean nothing to a storage.
    public var head: Data { CacheHead.data(of: self) }

    /// Creates a record from its stored values; `nil` if the head is damaged.
    ///
    /// - Parameters:
    ///   - head: ``head``.
    ///   - isStale: whether it was marked stale since it was stored.
    ///   - isPinned: whether eviction leaves it out.
    ///   - chunks: all chunks, or none to read it without them.
    public init?(head: Data, isStale: Bool, isPinned: Bool = false, chunks: [Data] = []) {
        guard let read = CacheHead(head) else { return nil }
        self.init(read.entry, seal: read.seal, body: BodyRows(chunks, size: read.bodySize, column: read.digest))
        readChecksum = read.checksum
        readNames = read.names
        self.isStale = isStale
        self.isPinned = isPinned
    }

    /// Returns the record with another entry of the same body, and the names of both.
    func with(_ new: CacheEntry) -> CacheRecord {
        var record = CacheRecord(new, seal: seal, body: BodyRows([], size: body.size, column: bodyID))
        record.readNames = Array(Tags(names).union(Tags(record.names)))
        return record
    }

    /// Returns the record with chunks that were read apart from it.
    public func with(chunks: [Data]) -> CacheRecord {
        var record = CacheRecord(
            entry, seal: seal, body: BodyRows(chunks, size: body.size, column: body.checksums.column))
        record.readChecksum = checksum
        record.readNames = names
        return record
    }
}

// Not the synthesized texts: headers and bodies may hold secrets.

extension CacheRecord: Redacted {
    /// The key and the size of the body.
    public var description: String { "record \(key), \(bodySize) bytes" }
}

extension CacheConfirmation: Redacted {
    /// The key.
    public var description: String { "confirmation of \(key)" }
}

// MARK: For tests of storages

extension CacheRecord {
    /// Creates the record of an entry in clear.
    package init(_ entry: CacheEntry) { self.init(entry, seal: nil, body: BodyRows(entry.stored.body)) }

    /// Whether a record in clear has all its chunks, and is as it was stored.
    package var isSound: Bool {
        if case .entry = CacheCoding.clear.opened(self, for: nil) { true } else { false }
    }
}

extension CacheEntry {
    /// Returns the checksum of its row.
    ///
    /// - Parameters:
    ///   - bodySize: the bytes of the body, as it is written.
    ///   - digest: the digest of the body, as it is written.
    func checksum(bodySize: Int64, digest: some ContiguousBytes) -> Int64 {
        Checksum.row(key: key, request: request, stored: stored, bodySize: bodySize, digest: digest)
    }

    /// The names in ``CacheRecord/names``.
    fileprivate var selectionNames: [String] {
        var all = names.map(CacheCondition.tag)
        all.append(CacheCondition.url(url))
        if let host = URLHost.of(url) ?? url.split(separator: "/").first { all.append(CacheCondition.host(host)) }
        if let identity { all.append(CacheCondition.identity(identity)) }
        return all
    }
}
