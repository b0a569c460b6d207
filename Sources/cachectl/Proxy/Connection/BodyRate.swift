#if Tools
import NIOCore

/// The rate at which the body of a request arrives. A client that sends a byte now and then would otherwise keep its
/// connection, and the exchange with the origin, forever.
struct BodyRate {
    /// The minimum number of bytes per second, on average over a window.
    static let minimum = 100

    /// The time of waiting for the client after which the rate is checked.
    let window: TimeAmount
    private var waited = TimeAmount.zero
    private var count = 0

    init(window: TimeAmount) { self.window = window }

    /// Adds bytes that have arrived.
    ///
    /// - Parameter time: the time that the proxy has waited for them.
    /// - Returns: whether the client is fast enough.
    mutating func add(_ bytes: Int, after time: TimeAmount) -> Bool {
        count += bytes
        waited = waited + time
        guard waited >= window else { return true }
        defer { self = BodyRate(window: window) }
        return Double(count) >= Double(Self.minimum) * Double(waited.nanoseconds) / 1e9
    }
}
#endif
