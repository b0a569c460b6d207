import Foundation

/// Keeps what an exchange has received of an answer whose transfer breaks, for whoever asks the same again.
///
/// Called by one exchange, in this order: ``left(for:)``, any number of ``begin(_:)`` with the pieces behind each, and
/// ``keep(_:for:)`` where it ends without a whole answer.
protocol PartialKeeping: AnyObject, Sendable {
    /// What the one before has left; `none` where there is nothing to go on with.
    func left(for request: TransportRequest) async -> Boxed<IncompleteArrival>

    /// An answer begins that may be gone on with, or its rest: what is in it already was received before.
    func begin(_ incomplete: IncompleteArrival) async

    /// Another piece of what has begun.
    func append(_ piece: Data) async

    /// What was kept is of no use any more.
    func discard() async

    /// The exchange is at its end, and this is what it leaves.
    func keep(_ incomplete: IncompleteArrival, for request: TransportRequest) async

    /// The exchange has been canceled, and will keep what it has: whoever asks the same waits for that.
    func leave()
}
