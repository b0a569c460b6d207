#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import DiamondSQLite
import Foundation

/// The event loop: one thread that owns libcurl's multi handle and everything attached to it.
///
/// `curl_multi_poll` and `curl_multi_perform` measured better than epoll and socket actions from eight exchanges on (15
/// against 18 µs of CPU a request in C), and are simpler.
///
/// `@unchecked Sendable`: `commands` is a ``Guarded`` value; `session` is touched by the loop's own thread alone.
final class CurlLoop: @unchecked Sendable {
    enum Command {
        case start(CurlTransfer)
        case cancel(CurlTransfer)
        /// Go on with a transfer that was paused by its consumer or for want of something to upload.
        case resume(CurlTransfer)
    }

    private enum Phase { case idle, running, stopped }

    private struct State {
        var phase = Phase.idle
        var commands: [Command] = []
        var multi: UnsafeMutableRawPointer?
        var onStopped: [@Sendable () -> Void] = []
    }

    private let state = Guarded(State())

    /// Has a command carried out by the loop's thread; a start after the stop fails at once.
    func add(_ command: Command) {
        let (phase, multi, mustWake) = state.withLock { state -> (Phase, UnsafeMutableRawPointer?, Bool) in
            guard state.phase != .stopped else { return (.stopped, nil, false) }
            defer { state.phase = .running }
            state.commands.append(command)
            return (state.phase, state.multi, state.commands.count == 1)
        }
        switch phase {
        case .idle: startThread()
        case .running: if mustWake, let multi { curl_multi_wakeup(multi) }
        case .stopped: if case .start(let transfer) = command { transfer.fail(Self.closed) }
        }
    }

    /// Ends every transfer and the thread, then calls `completion`.
    func stop(_ completion: @escaping @Sendable () -> Void) {
        let (phase, multi) = state.withLock { state -> (Phase, UnsafeMutableRawPointer?) in
            defer { state.phase = .stopped }
            if state.phase == .running || !state.onStopped.isEmpty { state.onStopped.append(completion) }
            return (state.onStopped.isEmpty ? .idle : state.phase, state.multi)
        }
        if phase == .idle { completion() } else if let multi { curl_multi_wakeup(multi) }
    }

    private static let closed = TransportError(.closed, "the transport was closed: make a new engine")

    // MARK: The thread

    private func startThread() {
        let thread = Thread { [self] in run() }
        thread.name = "diamond.curl"
        thread.start()
    }

    private func run() {
        let session = CurlSession()
        state.withLock { $0.multi = session.multi }
        while let commands = nextCommands() {
            for command in commands { session.obey(command) }
            session.perform()
            session.wait()
        }
        session.end(Self.closed)
        let (unstarted, waiters) = state.withLock { state in
            defer { (state.commands, state.onStopped, state.multi) = ([], [], nil) }
            return (state.commands, state.onStopped)
        }
        session.free()
        for case .start(let transfer) in unstarted { transfer.fail(Self.closed) }
        for waiter in waiters { waiter() }
    }

    /// `nil` when the loop is to end.
    private func nextCommands() -> [Command]? {
        state.withLock { state in
            guard state.phase == .running else { return nil }
            guard !state.commands.isEmpty else { return [] }
            defer { state.commands.removeAll(keepingCapacity: true) }
            return state.commands
        }
    }
}
#endif
