public import Foundation

/// The state of a connection.
public enum ConnectionState: Hashable, Sendable, Codable {
    /// The connection has not started.
    case ready
    /// The connection reads the cache, waits for a permit, is on the wire, or stores its response. Attempts count from
    /// 1.
    case executing(attempt: Int)
    /// The connection waits for its next attempt, with neither a permit nor a socket.
    case waiting(until: Date)
    /// ``Connection/pause()`` holds the connection, with neither a permit nor a socket. The exception is a request that
    /// must not be sent twice and may have been sent: its response is awaited.
    case paused
    /// The connection is over. No other state follows.
    case finished(Ending)

    /// The way a connection has finished.
    public enum Ending: String, Hashable, Sendable, Codable {
        /// The connection has a response, whatever its status.
        case success
        /// The connection has an error other than `cancelled`.
        case failure
        /// The connection was canceled before its response was known.
        case cancelled
    }

    /// Whether the connection has finished, in whatever way.
    public var isFinished: Bool {
        if case .finished = self { true } else { false }
    }
}

extension ConnectionState: CustomStringConvertible {
    /// A short description, such as `executing, attempt 2` and `finished: success`.
    public var description: String {
        switch self {
        case .ready: "ready"
        case .executing(let attempt): "executing, attempt \(attempt)"
        case .waiting(let date): "waiting until \(date.formatted(.iso8601))"
        case .paused: "paused"
        case .finished(let ending): "finished: \(ending.rawValue)"
        }
    }
}
