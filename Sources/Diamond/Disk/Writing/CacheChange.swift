/// One change of the disk tier.
///
/// What it does is in a box, because it waits in an array and a dictionary at once, and is moved in them; what it is looked
/// at for there is beside it, because to take it out of an entry copies the entry.
struct CacheChange: Sendable {
    indirect enum Action: Sendable {
        case store(CacheEntry)
        case confirm(CacheEntry, replacing: StoredResponse)
        /// With whether it was erased for every process, or is only not kept in the file.
        case delete(everywhere: Bool)
    }

    let key: RequestKey
    let action: Action
    /// Bytes held until it is written.
    let cost: Int
    /// About the most that the file grows by.
    let diskBytes: Int64

    private init(_ key: RequestKey, _ action: Action, cost: Int = 0, diskBytes: Int64 = 0) {
        (self.key, self.action, self.cost, self.diskBytes) = (key, action, cost, diskBytes)
    }

    static func store(_ entry: CacheEntry) -> CacheChange {
        let bodySize = entry.stored.body.count
        let size = bodySize + entry.stored.headerBlock.count + 2 * entry.request.count
        return CacheChange(entry.key, .store(entry), cost: bodySize, diskBytes: Int64(size) + 4096)
    }

    static func confirm(_ entry: CacheEntry, replacing old: StoredResponse) -> CacheChange {
        CacheChange(entry.key, .confirm(entry, replacing: old))
    }

    static func delete(_ key: RequestKey, everywhere: Bool = false) -> CacheChange {
        CacheChange(key, .delete(everywhere: everywhere))
    }

    var isStore: Bool { if case .store = action { true } else { false } }

    var isErasure: Bool { if case .delete = action { true } else { false } }
}
