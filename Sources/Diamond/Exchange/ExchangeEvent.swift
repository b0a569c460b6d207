import Foundation

/// What those who wait for an exchange hear of it.
enum ExchangeEvent: Sendable {
    /// An attempt begins, and is measured.
    case began(TransferMeter)
    /// It is about to be sent for the n-th time; told from the second on.
    case attempt(Int)
    /// It goes out with a credential that was added on the way, on whose behalf nobody knows: the answer is for one alone.
    case personal
    /// It has given its place on the wire up, and waits for something else.
    case aside
    /// It waits for its next attempt, without a place on the wire.
    case waiting(until: Date)
}
