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
        /// Whether the thread waits, or is about to: awake it looks for commands by itself, and a wake-up costs a system
        /// call on either side.
        var isAsleep = false
        var onStopped: [@Sendable () -> Void] = []

        // Under the lock, because the handle is gone once the thread has taken it back.
        mutating func wake() {
            guard isAsleep, let multi else { return }
            isAsleep = false
            curl_multi_wakeup(multi)
        }
    }

    private let state = Guarded(State())

    /// Has a command carried out by the loop's thread; a start after the stop fails at once.
    func add(_ command: Command) {
        let phase = state.withLock { state in
            guard state.phase != .stopped else { return Phase.stopped }
            defer { state.phase = .running }
            state.commands.append(command)
            state.wake()
            return state.phase
        }
        if phase == .idle { startThread() }
        if phase == .stopped, case .start(let transfer) = command { Self.refuse(transfer) }
    }

    /// Ends every transfer and the thread, then calls `completion`.
    func stop(_ completion: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            let isEnding = state.phase == .running || !state.onStopped.isEmpty
            if isEnding { state.onStopped.append(completion) }
            state.phase = .stopped
            state.wake()
            return !isEnding
        }
        if isOver { completion() }
    }

    private static func refuse(_ transfer: CurlTransfer) {
        transfer.reception.resolve(.failure(CurlFailure.closed(transfer)))
    }

    // MARK: The thread

    private func startThread() {
        Thread.detachNewThread { [self] in
            diamond_curl_name_thread("diamond.curl")
            run()
        }
    }

    private func run() {
        let session = CurlSession()
        state.withLock { $0.multi = session.multi }
        while let commands = nextCommands() {
            for command in commands { session.obey(command) }
            session.perform()
            if mayWait() { session.wait() }
        }
        session.end()
        let (unstarted, waiters) = state.withLock { state in
            defer { (state.commands, state.onStopped, state.multi) = ([], [], nil) }
            return (state.commands, state.onStopped)
        }
        session.free()
        for case .start(let transfer) in unstarted { Self.refuse(transfer) }
        for waiter in waiters { waiter() }
    }

    /// `nil` when the loop is to end.
    private func nextCommands() -> [Command]? {
        state.withLock { state in
            state.isAsleep = false
            guard state.phase == .running else { return nil }
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// Whether there is nothing to do but wait. From then on a command wakes the thread.
    private func mayWait() -> Bool {
        state.withLock { state in
            state.isAsleep = state.commands.isEmpty && state.phase == .running
            return state.isAsleep
        }
    }
}
#endif
