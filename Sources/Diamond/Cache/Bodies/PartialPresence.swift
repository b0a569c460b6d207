import Synchronization

/// Whether a store may have partial entries. Most stores have none, which saves their lookup.
///
/// A partial entry of this process is known immediately, one of another process after the next poll of
/// ``CrossProcessChanges``.
final class PartialPresence: Sendable {
    /// The lowest bit tells whether there may be some. The other bits count the partial entries that this process has
    /// begun.
    private let state: Atomic<Int>

    init(isPossible: Bool = true) { state = Atomic(isPossible ? 1 : 0) }

    var isPossible: Bool { state.load(ordering: .acquiring) & 1 == 1 }

    /// The state before a poll, for ``note(_:since:)``.
    var instant: Int { state.load(ordering: .acquiring) }

    /// Notes that this process has written a partial entry. Call it after the write, so that no earlier poll overrides
    /// it.
    func add() {
        state.add(2, ordering: .acquiringAndReleasing)
        state.bitwiseOr(1, ordering: .acquiringAndReleasing)
    }

    /// Notes the result of a poll, unless this process has written a partial entry since the poll began.
    func note(_ areAny: Bool, since instant: Int) {
        _ = state.compareExchange(
            expected: instant, desired: areAny ? instant | 1 : instant & ~1, ordering: .acquiringAndReleasing)
    }
}
