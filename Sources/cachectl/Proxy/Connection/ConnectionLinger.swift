#if Tools
import NIOConcurrencyHelpers
import NIOCore

/// The end of a connection whose last response is written. It stays open while the client sends, because closing it
/// with unread bytes would reset it, and the client could lose the response.
final class ConnectionLinger: Sendable {
    /// The time after the last bytes of the client.
    private static let pause = TimeAmount.seconds(2)

    private struct State {
        var end: ContinuousClock.Instant?
        var timer: Scheduled<Void>?
    }

    private let channel: any Channel
    private let limit: Duration
    private let state = NIOLockedValueBox(State())

    /// - Parameter limit: the time after which the connection is closed even if the client still sends.
    init(_ channel: any Channel, limit: Duration) {
        self.channel = channel
        self.limit = limit
    }

    /// Whether the client may still send.
    var isOpen: Bool { state.withLockedValue { $0.end.map { $0 > .now } ?? true } }

    /// Closes the connection after the pause, instead of earlier.
    func extend() {
        let timer = channel.eventLoop.scheduleTask(in: Self.pause) { [channel] in channel.close(promise: nil) }
        let last = state.withLockedValue { state in
            defer { state.timer = timer }
            state.end = state.end ?? .now + limit
            return state.timer
        }
        last?.cancel()
    }
}
#endif
