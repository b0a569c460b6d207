/// The changes that a process writes together: up to 64.
public struct CacheBatch: Sendable {
    /// The changes, in the order in which they came.
    public var steps: [CacheStep]
    /// The uses, counts and accesses since the last batch.
    var usage = UsageRecords()
    /// Whether the pages of a file are asked for.
    var checksUsage = false
    /// The ``DirectCacheStorage/generation`` for which the records were sealed; `nil` for the current one.
    var generation: Int?

    /// Creates a batch.
    public init(_ steps: [CacheStep]) { self.steps = steps }

    /// The steps in groups that have one change of a key each, so that the changes of a group can be made at once.
    ///
    /// - Parameter size: the bytes of bodies after which another group begins.
    package func groups(of size: Int = .max) -> [ArraySlice<CacheStep>] {
        var groups: [ArraySlice<CacheStep>] = []
        var rest = steps[...]
        while !rest.isEmpty {
            var seen: Set<RequestKey> = []
            var left = size
            let group = rest.prefix { step in
                defer { left -= step.bodySize }
                return left > 0 && seen.insert(step.key).inserted
            }
            rest = rest.dropFirst(group.count)
            groups.append(group)
        }
        return groups
    }
}

/// One change of a record: a whole transition.
public enum CacheStep: Sendable {
    /// Stores a record in the place of the one with its key, whose pin stays. A stored record that
    /// ``CacheRecord/isNewer(than:)`` it stays. A record whose URL another process has announced as changed since
    /// ``CacheRecord/knownPosition`` is stored with ``CacheRecord/isStale``. In both cases, the outcome names the key.
    /// If a record was replaced, its key is announced.
    case store(CacheRecord)
    /// Writes the head of a response that a server has confirmed, if the stored record is still the one that was
    /// confirmed. The body, the names and the pin stay, and names are added. Otherwise the outcome names the key. The
    /// key is announced.
    case confirm(CacheConfirmation)
    /// Erases the record of a key. The key is announced if there was one, or if `everywhere` is `true`.
    case erase(RequestKey, everywhere: Bool)

    /// The key of the record.
    public var key: RequestKey {
        switch self {
        case .store(let record): record.key
        case .confirm(let confirmation): confirmation.key
        case .erase(let key, _): key
        }
    }

    /// The bytes of the body that it writes.
    fileprivate var bodySize: Int { if case .store(let record) = self { record.bodySize } else { 0 } }
}

/// The confirmation of a stored response by a server.
public struct CacheConfirmation: Sendable {
    /// The entry after the confirmation, in clear.
    let entry: CacheEntry
    /// The response that was confirmed.
    let old: StoredResponse
    let coding: CacheCoding

    init(entry: CacheEntry, old: StoredResponse, coding: CacheCoding) {
        self.entry = entry
        self.old = old
        self.coding = coding
    }

    /// Creates a confirmation in a store in clear, for tests of storages.
    package init(_ entry: CacheEntry, of old: StoredResponse) { self.init(entry: entry, old: old, coding: .clear) }

    /// The key of the record.
    public var key: RequestKey { entry.key }

    /// Returns the record after the confirmation, without its chunks, which stay; `nil` if the stored record is not the
    /// response that was confirmed. A storage writes it if the stored record still has the same
    /// ``CacheRecord/version`` and no mark that was not read.
    public func record(replacing stored: CacheRecord) -> CacheRecord? {
        coding.record(of: entry, confirming: old, in: stored)
    }
}

/// The result of a batch.
public struct CacheOutcome: Sendable {
    /// The keys of steps after which the stored record is not the one of the step, or is stale. The memory tier drops
    /// them.
    public var vanished: [RequestKey]
    /// The pages of a file after the batch.
    var pages: CachePages?
    /// The accesses that are recorded from now on.
    var recording: AccessRecording?

    /// Creates a result.
    public init(vanished: [RequestKey] = []) { self.vanished = vanished }
}
