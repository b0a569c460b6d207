import DiamondSQLite
import Foundation

/// The tier of the cache that answers in nanoseconds: bounded in bytes, lost with the process.
///
/// Evicts by SIEVE (Zhang and others, NSDI 2024): a hand walks from the oldest to the newest, spares once what was used
/// since it last came by, and takes the first that was not. A hit moves nothing.
final class MemoryTier: Sendable {
    fileprivate struct Slot {
        var request: [UInt8]
        var stored: StoredResponse
        var isVisited = false
        var older: RequestKey?
        var newer: RequestKey?

        /// Bytes, with what the slot itself takes.
        var cost: Int { stored.body.count + stored.headerBlock.count + request.count + 512 }
    }

    fileprivate struct State {
        var slots: [RequestKey: Slot] = [:]
        var oldest: RequestKey?
        var newest: RequestKey?
        var hand: RequestKey?
        var cost = 0
    }

    private let state = Guarded(State())
    /// Bytes.
    let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    /// Bytes kept now.
    var cost: Int { state.withLock { $0.cost } }

    func find(_ key: RequestKey, request: [UInt8]) -> StoredResponse? {
        state.withLock { state in
            guard let slot = state.slots[key], slot.request == request else { return nil }
            if !slot.isVisited { state.slots[key]?.isVisited = true }
            return slot.stored
        }
    }

    /// Keeps a response, unless it would take more than an eighth of the tier.
    func store(_ stored: StoredResponse, under key: RequestKey, request: [UInt8]) {
        let slot = Slot(request: request, stored: stored)
        state.withLock { state in
            state.remove(key)
            guard slot.cost <= capacity / 8 else { return }
            state.append(slot, key)
            while state.cost > capacity { state.evictOne() }
        }
    }

    func remove(_ key: RequestKey) { state.withLock { $0.remove(key) } }

    func removeAll() { state.withLock { $0 = State() } }
}

extension MemoryTier.State {
    fileprivate mutating func append(_ slot: MemoryTier.Slot, _ key: RequestKey) {
        slots[key] = slot
        slots[key]?.older = newest
        if let newest { slots[newest]?.newer = key } else { oldest = key }
        newest = key
        cost += slot.cost
    }

    fileprivate mutating func remove(_ key: RequestKey) {
        guard let slot = slots.removeValue(forKey: key) else { return }
        if let older = slot.older { slots[older]?.newer = slot.newer } else { oldest = slot.newer }
        if let newer = slot.newer { slots[newer]?.older = slot.older } else { newest = slot.older }
        if hand == key { hand = slot.newer }
        cost -= slot.cost
    }

    fileprivate mutating func evictOne() {
        guard var candidate = hand ?? oldest else { return }
        while let slot = slots[candidate], slot.isVisited {
            slots[candidate]?.isVisited = false
            candidate = slot.newer ?? oldest ?? candidate
        }
        hand = slots[candidate]?.newer
        remove(candidate)
    }
}
