import Foundation

/// An event of an exchange, for its callers.
enum ExchangeEvent: Sendable {
    /// An attempt begins; the meter measures its transfer.
    case began(TransferMeter)
    /// The request is about to be sent for the n-th time; reported from the second time on.
    case attempt(Int)
    /// The request is sent with a credential of an unknown user, which cookies or an interceptor added. The response is
    /// for a single caller.
    case personal
    /// The exchange has released its permit, and waits for something else than the wire.
    case permitReleased
    /// The exchange waits for its next attempt, without a permit.
    case waiting(until: Date)
}
