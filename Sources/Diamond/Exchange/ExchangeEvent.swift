import Foundation

/// An event of an exchange, for those who wait for it.
enum ExchangeEvent: Sendable {
    /// An attempt begins, whose transfer is measured.
    case began(TransferMeter)
    /// The request is about to be sent for the n-th time; reported from the second time on.
    case attempt(Int)
    /// The request is sent with a credential that was added on the way, of an unknown user. The response is for a
    /// single caller.
    case personal
    /// The exchange has given up its place on the wire, and waits for something else.
    case aside
    /// The exchange waits for its next attempt, without a place on the wire.
    case waiting(until: Date)
}
