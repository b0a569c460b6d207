#if Curl && canImport(CDiamondCurl)
import CDiamondCurl
import DiamondSQLite
import Foundation

/// The event loop: one thread that owns libcurl's multi handle and everything attached to it.
///
/// It uses `curl_multi_poll` and `curl_multi_perform`. From eight exchanges on they need less CPU than epoll and socket
/// actions (15 instead of 18 µs per request, measured in C), and they are simpler. With epoll, callers could send their
/// requests themselves. That saves a wake-up but costs more, because libcurl's memory moves between the cores.
final class CurlLoop: Sendable {
    enum Command {
        case start(CurlTransfer)
        case cancel(CurlTransfer)
        /// Resumes a transfer that was paused by its consumer, or because there was nothing to upload.
        case resume(CurlTransfer)
        /// Runs a task that prefers this thread.
        case run(UnownedJob)
    }

    private enum Phase { case idle, running, stopped }

    private struct State {
        var phase = Phase.idle
        var commands: [Command] = []
        var multi: UnsafeMutableRawPointer?
        /// Whether the thread waits, or is about to wait. An awake thread checks for commands itself; a wake-up costs a
        /// system call on either side.
        var isAsleep = false
        var onStopped: [@Sendable () -> Void] = []

        // Called under the lock, because the thread frees the handle after it has removed it from the state.
        mutating func wake() {
            guard isAsleep, let multi else { return }
            isAsleep = false
            curl_multi_wakeup(multi)
        }
    }

    private let state = Guarded(State())
    private let settings: CurlSettings

    init(_ settings: CurlSettings) { self.settings = settings }

    /// Passes a command to the loop's thread. A start after the stop fails at once.
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

    /// Refuses a command after the thread has ended.
    private func refuse(_ command: Command) {
        switch command {
        case .start(let transfer): transfer.pendingResponse.resolve(.failure(CurlFailure.closed(transfer)))
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
        while dequeueCommands(into: &commands) {
            // Commands added by tasks are performed in the same pass.
            if perform(commands, on: session), dequeueCommands(into: &commands) { perform(commands, on: session) }
            session.perform()
            if beginWaitIfIdle() { session.wait() }
        }
        session.end()
        let (left, waiters) = state.withLock { state in
            defer {
                state.commands = []
                state.onStopped = []
                state.multi = nil
            }
            return (state.commands, state.onStopped)
        }
        session.free()
        for command in left { refuse(command) }
        for waiter in waiters { waiter() }
    }

    /// - Returns: Whether a task ran.
    @discardableResult private func perform(_ commands: [Command], on session: CurlSession) -> Bool {
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

    /// Replaces the batch with the waiting commands, and reuses its memory for later ones.
    ///
    /// - Returns: `false` if the loop must end.
    private func dequeueCommands(into batch: inout [Command]) -> Bool {
        batch.removeAll(keepingCapacity: true)
        return state.withLock { state in
            state.isAsleep = false
            guard state.phase == .running else { return false }
            swap(&state.commands, &batch)
            return true
        }
    }

    /// Marks the thread as asleep if there is no command. From then on a command wakes it.
    ///
    /// - Returns: Whether the thread may wait.
    private func beginWaitIfIdle() -> Bool {
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
