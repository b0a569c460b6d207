import DiamondSQLite
import Foundation
import HTTPTypes

/// Pauses and resumes.
extension Connection {
    /// Pauses the connection until ``resume()``. Running work is abandoned, and its permit and its socket are released.
    ///
    /// If the transfer can be resumed, the received part of the response is stored, and only the rest is requested
    /// later (see <doc:RunningConnections>). If not, the exchange starts again.
    ///
    /// These are not abandoned:
    /// - a request that must not be sent twice (a method that is not idempotent, RFC 9110 section 9.2.2, without an
    ///   `Idempotency-Key` of yours), once it may have been sent. Its response is delivered on ``resume()``. Further
    ///   attempts wait until then, unless it has followed a redirect.
    /// - a download whose file is complete and about to be renamed
    /// - a request whose outcome the queue is recording (<doc:Replaying>)
    ///
    /// Pauses nest: each needs a ``resume()`` of its own. A paused connection may be canceled. In a serial lane it
    /// blocks the connections after it. The call has no effect once the connection has finished.
    public func pause() {
        performInCore(notifyingKVO: false) { core in
            // Computed under the same lock: a dependency may have just updated the request.
            let request = core.updatedRequest.value ?? request
            let policy = request.retry ?? core.registry?.pipeline.time.retry ?? .default
            let isRepeatable = RetryableRequest(request.method, headers: request.headers).isRepeatable(by: policy)
            return core.life.pause(isRepeatable: isRepeatable)
        }
    }

    /// Resumes the connection once this has been called as often as ``pause()``.
    public func resume() { perform(notifyingKVO: true) { $0.resume() } }

    /// Whether ``pause()`` holds the connection.
    public var isPaused: Bool { state == .paused }

    /// Whether ``pause()`` holds the connection, or its lane is paused.
    func isHeld(by lanes: Lanes) -> Bool { isPaused || lanes.isPaused(request.lane) }
}
