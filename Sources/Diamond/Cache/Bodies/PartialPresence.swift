import Synchronization

/// Whether a store may have partial entries. Most have none, and who asks for one need not look.
///
/// What this process leaves is known at once, what another leaves with the next look of ``Neighbors``.
final class PartialPresence: Sendable {
    /// How often this process has begun one, and in the last bit whether there may be some.
    private let state = Atomic(1)

    var isPossible: Bool { state.load(ordering: .acquiring) & 1 == 1 }

    /// To be noted before a look.
    var instant: Int { state.load(ordering: .acquiring) }

    /// This process has written one. Said behind the write, so that no look from before it says otherwise.
    func add() {
        state.add(2, ordering: .acquiringAndReleasing)
        state.bitwiseOr(1, ordering: .acquiringAndReleasing)
    }

    /// A look, begun at an instant, has found some or none.
    func note(_ areAny: Bool, since instant: Int) {
        _ = state.compareExchange(
            expected: instant, desired: areAny ? instant | 1 : instant & ~1, ordering: .acquiringAndReleasing)
    }
}
