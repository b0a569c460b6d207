import DiamondSQLite
import Foundation

/// The tier of the cache that answers in nanoseconds: bounded in bytes, lost with the process.
///
/// In sixteen parts with a lock each, so that threads that ask for different things seldom wait for each other.
final class MemoryTier: Sendable {
    private struct Slot {
        var request: [UInt8]
        var stored: StoredResponse
    }

    private typealias Part = Guarded<Sieve<Int64, Slot>>

    private static let partCount = 16

    private let parts: [Part]
    private let limit: Guarded<Int>

    init(capacity: Int) {
        parts = (0..<Self.partCount).map { _ in Part(Sieve(capacity: capacity / Self.partCount)) }
        limit = Guarded(capacity)
    }

    /// Bytes kept at most. Lowering it evicts at once.
    var capacity: Int {
        get { limit.withLock { $0 } }
        set {
            limit.withLock { $0 = newValue }
            for part in parts { part.withLock { $0.capacity = newValue / Self.partCount } }
        }
    }

    /// Bytes kept now.
    var cost: Int { parts.reduce(0) { $0 + $1.withLock { $0.cost } } }

    /// The response to exactly this request, and whether it is used for the first time in a while.
    func find(_ key: RequestKey, request: [UInt8]) -> (stored: StoredResponse, isFirst: Bool)? {
        part(key.prefix).withLock { part in
            guard let (slot, isFirst) = part.use(key.prefix), slot.request == request else { return nil }
            return (slot.stored, isFirst)
        }
    }

    /// Keeps a response, unless it would fill one of the parts.
    func store(_ stored: StoredResponse, under key: RequestKey, request: [UInt8]) {
        let slot = Slot(request: request, stored: stored)
        // With what the slot itself takes.
        let cost = stored.body.count + stored.headerBlock.count * 3 + request.count + 512
        part(key.prefix).withLock { $0.insert(slot, under: key.prefix, cost: cost) }
    }

    func remove(_ key: RequestKey) { remove(key.prefix) }

    /// - Parameter prefix: ``RequestKey/prefix``.
    func remove(_ prefix: Int64) { part(prefix).withLock { $0.remove(prefix) } }

    /// Evicts down to a number of bytes; the bound stays.
    func shrink(to cost: Int) {
        for part in parts {
            part.withLock { part in
                let capacity = part.capacity
                part.capacity = cost / Self.partCount
                part.capacity = capacity
            }
        }
    }

    func removeAll() {
        for part in parts { part.withLock { $0.removeAll() } }
    }

    private func part(_ prefix: Int64) -> Part { parts[Int(truncatingIfNeeded: prefix) & (Self.partCount - 1)] }
}
