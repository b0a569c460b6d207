#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import DiamondSQLite
import Foundation

/// The event loop: one thread that owns libcurl's multi handle and everything attached to it.
///
/// `curl_multi_poll` and `curl_multi_perform` measured better than epoll and socket actions from eight exchanges on (15
/// against 18 µs of CPU a request in C), and are simpler. Callers that send their requests themselves, with epoll behind
/// them, saved a wake-up and cost more: libcurl's memory went back and forth between the cores.
final class CurlLoop: Sendable {
    enum Command {
        case start(CurlTransfer)
        case cancel(CurlTransfer)
        /// Go on with a transfer that was paused by its consumer or for want of something to upload.
        case resume(CurlTransfer)
        /// Go on with a task that prefers this thread.
        case run(UnownedJob)
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
    private let settings: CurlSettings

    init(_ settings: CurlSettings) { self.settings = settings }

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
        if phase == .stopped { refuse(command) }
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

    /// Refuses a command after the thread is gone.
    private func refuse(_ command: Command) {
        switch command {
        case .start(let transfer): transfer.reception.resolve(.failure(CurlFailure.closed(transfer)))
        case .run(let job): DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        case .cancel, .resume: break
        }
    }

    // MARK: The thread

    private func startThread() {
        Thread.detachNewThread { [self] in
            diamond_curl_name_thread("diamond.curl")
            run()
        }
    }

    private func run() {
        let session = CurlSession(settings)
        state.withLock { $0.multi = session.multi }
        var commands: [Command] = []
        while takeCommands(into: &commands) {
            // What tasks ask for goes out in the same pass.
            if carryOut(commands, session), takeCommands(into: &commands) { carryOut(commands, session) }
            session.perform()
            if mayWait() { session.wait() }
        }
        session.end()
        let (left, waiters) = state.withLock { state in
            defer { (state.commands, state.onStopped, state.multi) = ([], [], nil) }
            return (state.commands, state.onStopped)
        }
        session.free()
        for command in left { refuse(command) }
        for waiter in waiters { waiter() }
    }

    /// - Returns: whether a task ran.
    @discardableResult private func carryOut(_ commands: [Command], _ session: CurlSession) -> Bool {
        var hasRun = false
        for command in commands {
            switch command {
            case .start(let transfer): session.start(transfer)
            case .cancel(let transfer): session.release(transfer)
            case .resume(let transfer): session.resume(transfer)
            case .run(let job):
                job.runSynchronously(on: asUnownedTaskExecutor())
                hasRun = true
            }
        }
        return hasRun
    }

    /// Takes what there is to do, and leaves the room of what is done; `false` when the loop is to end.
    private func takeCommands(into batch: inout [Command]) -> Bool {
        batch.removeAll(keepingCapacity: true)
        return state.withLock { state in
            state.isAsleep = false
            guard state.phase == .running else { return false }
            swap(&state.commands, &batch)
            return true
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

extension CurlLoop: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) { add(.run(UnownedJob(job))) }
}
#endif
