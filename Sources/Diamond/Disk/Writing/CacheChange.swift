/// One change of the disk tier. Indirect, because it waits in an array and a dictionary at once and is moved in them: one
/// word instead of all that an entry has.
indirect enum CacheChange: Sendable {
    case store(CacheEntry)
    case confirm(CacheEntry, replacing: StoredResponse)
    /// With whether it was erased for every process, or is only not kept in the file.
    case delete(RequestKey, everywhere: Bool = false)

    var key: RequestKey {
        switch self {
        case .store(let entry), .confirm(let entry, _): entry.key
        case .delete(let key, _): key
        }
    }

    var isStore: Bool { if case .store = self { true } else { false } }

    var isErasure: Bool { if case .delete = self { true } else { false } }

    /// About the most that the file grows by.
    var diskBytes: Int64 {
        guard case .store(let entry) = self else { return 0 }
        return Int64(entry.stored.body.count + entry.stored.headerBlock.count + 2 * entry.request.count) + 4096
    }

    /// Bytes held until it is written.
    var cost: Int {
        guard case .store(let entry) = self else { return 0 }
        return entry.stored.body.count
    }
}
