/// One change of the disk tier.
///
/// A class, because it waits in an array and a dictionary at once, and is moved in them; what it is looked at for there is
/// beside what it does, because to take it out of an entry copies the entry.
final class CacheChange: Sendable {
    enum Action: Sendable {
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
    /// Whether it puts an answer on disk, and does not only replace one that waits for it.
    let isNew: Bool

    /// What one takes beside its bytes, about: many without a body are much, too.
    private static let overhead = 512

    private init(_ key: RequestKey, _ action: Action, cost: Int = 0, diskBytes: Int64 = 0, isNew: Bool = false) {
        (self.key, self.action, self.cost, self.diskBytes, self.isNew) = (key, action, cost, diskBytes, isNew)
    }

    /// - Parameter isNew: `false` for what waits itself, with what was confirmed of it.
    static func store(_ entry: CacheEntry, isNew: Bool = true) -> CacheChange {
        let size = entry.stored.body.count + entry.stored.headerBlock.count + 2 * entry.request.count
        return CacheChange(
            entry.key, .store(entry), cost: size + overhead, diskBytes: Int64(size) + 4096, isNew: isNew)
    }

    // On disk the body stays where it is; here it is held until then. Of what was confirmed, the headers are kept as well.
    static func confirm(_ entry: CacheEntry, replacing old: StoredResponse) -> CacheChange {
        let bodies = max(entry.stored.body.count, old.body.count)
        let size = bodies + entry.stored.headerBlock.count + old.headerBlock.count + entry.request.count
        return CacheChange(entry.key, .confirm(entry, replacing: old), cost: size + overhead)
    }

    /// Costs nothing, because it is never refused: what it erases would come back.
    static func delete(_ key: RequestKey, everywhere: Bool = false) -> CacheChange {
        CacheChange(key, .delete(everywhere: everywhere))
    }

    var isErasure: Bool { if case .delete = action { true } else { false } }

    /// Whether other processes are to drop it, too.
    var isForAll: Bool { if case .delete(everywhere: true) = action { true } else { false } }
}
