import DiamondSQLite
import Foundation
import HTTPTypes

/// Pausing, and going on.
extension Connection {
    /// Holds the connection until ``resume()``: it is not started, waits for nothing, and what is on its way is given up,
    /// with its place on the wire and its socket.
    ///
    /// What was received of an answer is kept where it can be gone on with, and only the rest is asked for then (see
    /// <doc:RunningConnections>); else the exchange begins anew. A request that must not be sent twice (a method that is
    /// not idempotent, RFC 9110 section 9.2.2, without an `Idempotency-Key` of yours) is not given up once it may have been
    /// sent: its answer is kept until ``resume()``. Between two attempts it is not sent again meanwhile, but begins
    /// anew then, unless a redirect has led to where it is. Nor is a download given up whose file is whole, and about to get
    /// its name, or a request whose outcome the queue takes note of (<doc:Replaying>).
    ///
    /// Pauses nest: each wants a ``resume()`` of its own. A paused connection may be canceled; in a serial lane it holds
    /// up those behind it. Without effect once it has finished.
    public func pause() {
        performInCore(announcing: false) { core in
            // Asked with the step: what is sent may have become another request just now.
            core.life.pause(isRepeatable: isRepeatable(core))
        }
    }

    /// Goes on, when each ``pause()`` has been answered by this.
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
