import DiamondSQLite
import Foundation
import HTTPTypes

/// Pausing and resuming.
extension Connection {
    /// Holds the connection until ``resume()``: it is not started and waits for nothing. Work under way is given up,
    /// with its permit and its socket.
    ///
    /// The received part of an answer is kept where the transfer can be resumed, and only the rest is requested then
    /// (see <doc:RunningConnections>). Else the exchange starts again. A request that must not be sent twice (a method
    /// that is not idempotent, RFC 9110 section 9.2.2, without an `Idempotency-Key` of yours) is not given up once it
    /// may have been sent: its answer is kept until ``resume()``. Between two attempts it is not sent again during the
    /// pause. It starts again on ``resume()``, unless a redirect has led to where it is. A download is not given up
    /// when its file is whole and about to get its name, nor is a request whose outcome the queue takes note of
    /// (<doc:Replaying>).
    ///
    /// Pauses nest: each needs a ``resume()`` of its own. A paused connection may be canceled; in a serial lane it
    /// holds up those behind it. The call has no effect once the connection has finished.
    public func pause() {
        performInCore(announcing: false) { core in
            // Asked with the step: what is sent may have become another request just now.
            core.life.pause(isRepeatable: isRepeatable(core))
        }
    }

    /// Resumes the connection, when it has been called once for each ``pause()``.
    public func resume() { perform(announcing: true) { $0.resume() } }

    /// Whether it is held by ``pause()``.
    public var isPaused: Bool { state == .paused }

    /// Whether it is held by ``pause()``, or is in a lane that is.
    func isHeld(by lanes: Lanes) -> Bool { isPaused || lanes.isPaused(request.lane) }

    /// Whether what is sent may be sent again.
    private func isRepeatable(_ core: Core) -> Bool {
        (core.handed.value ?? request).isRepeatable(by: core.home?.pipeline.retry ?? .default)
    }
}

extension Request {
    /// Whether a second arrival does no harm.
    ///
    /// - Parameter policy: that of the engine, where the request has none.
    fileprivate func isRepeatable(by policy: RetryPolicy) -> Bool {
        RetryableRequest(method, headers: headers).isRepeatable(by: retry ?? policy)
    }
}
