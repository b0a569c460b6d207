#if Valkey
import NIOCore

/// The times and limits of a connection.
package struct ValkeyTiming: Sendable {
    /// The longest time that a lookup waits for its answer, or for the first connection.
    package var lookup = Duration.milliseconds(50)
    /// The longest time that a write or the read of a chunk waits.
    package var transfer = Duration.seconds(2)
    /// The longest time of connecting, with TLS and the first commands.
    package var connecting = Duration.seconds(2)
    /// The time between two questions for the server's time, which find a connection that is lost.
    package var ping = Duration.milliseconds(100)
    /// The time without a byte after which the connection is closed.
    package var silence = Duration.seconds(1)
    /// The longest delay before the first repetition of a failed connection. It doubles up to the second.
    package var backoff = (first: Duration.milliseconds(50), last: Duration.seconds(5))
    /// The time after which the erasure of the records of a name goes on in the background.
    package var sweep = Duration.seconds(1)
    /// The most commands without an answer, and the most bytes of them.
    package var queue = (commands: 4096, bytes: 64 << 20)

    package init() {}

    /// Returns the delay before another attempt to connect, with full jitter: clients that have lost a server together
    /// do not come back together.
    ///
    /// - Parameters:
    ///   - failures: 0 after the first failure.
    ///   - draw: a random number from 0 up to 1.
    func delay(afterFailures failures: Int, draw: Double) -> Duration {
        min(backoff.last, backoff.first * (1 << min(failures, 16))) * min(max(draw, 0), 1)
    }
}

extension Duration {
    var amount: TimeAmount {
        let (seconds, attoseconds) = components
        return .nanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
#endif
