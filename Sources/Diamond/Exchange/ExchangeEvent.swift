import Foundation

/// What those who wait for an exchange hear of it.
enum ExchangeEvent: Sendable {
    /// An attempt begins, and is measured.
    case began(TransferMeter)
    /// It is about to be sent for the n-th time; told from the second on.
    case attempt(Int)
    /// It has given its place on the wire up, and waits for something else.
    case aside
    /// It waits for its next attempt, without a place on the wire.
    case waiting(until: Date)
}
