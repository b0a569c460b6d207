public import Foundation

/// The state of a connection.
public enum ConnectionState: Hashable, Sendable, Codable {
    /// Not started.
    case ready
    /// Looking up in the cache, waiting for a permit, on the wire, or storing; the attempt is counted from 1.
    case executing(attempt: Int)
    /// Between two attempts, with neither a permit nor a socket.
    case waiting(until: Date)
    /// Held by ``Connection/pause()``, with neither a permit nor a socket. The exception is a request that must not be
    /// sent twice and may have been sent: its answer is awaited.
    case paused
    /// Over. Nothing follows.
    case finished(Ending)

    /// The way a connection has finished.
    public enum Ending: String, Hashable, Sendable, Codable {
        /// With a response, whatever its status.
        case success
        /// With an error that is no cancel.
        case failure
        /// Canceled before its response was known.
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
