import Synchronization

/// Whether a store may have partial entries. Most stores have none, and a lookup of one is saved.
///
/// An entry of this process is known at once, one of another process after the next look of ``CrossProcessChanges``.
final class PartialPresence: Sendable {
    /// The last bit tells whether there may be some, the others count those that this process has begun.
    private let state = Atomic(1)

    var isPossible: Bool { state.load(ordering: .acquiring) & 1 == 1 }

    /// The count, to be read before a look.
    var instant: Int { state.load(ordering: .acquiring) }

    /// Notes that this process has written one. Called after the write, so that no earlier look says otherwise.
    func add() {
        state.add(2, ordering: .acquiringAndReleasing)
        state.bitwiseOr(1, ordering: .acquiringAndReleasing)
    }

    /// Notes the result of a look, unless this process has written one since the look began.
    func note(_ areAny: Bool, since instant: Int) {
        _ = state.compareExchange(
            expected: instant, desired: areAny ? instant | 1 : instant & ~1, ordering: .acquiringAndReleasing)
    }
}
