extension ReplayQueue {
    /// The changes of jobs from the start of an iteration on, by this and other processes.
    ///
    /// ```swift
    /// for try await job in queue.changes { print("\(job)") }
    /// ```
    ///
    /// Each element is a job in its latest state. A job that changes several times between two reads is returned once,
    /// so that a slow reader has no backlog. The file is read at most once in a tenth of a second: changes by this
    /// process are reported within that time, changes by others within a second. The last change is always reported.
    /// Deletions are not.
    ///
    /// An iteration begins with `makeAsyncIterator()`, which does not read the file. A change up to a second before
    /// that may be reported, too. An iteration throws ``ReplayError`` if the file cannot be read, and ends when its task
    /// is canceled. The file is read only while an iteration waits.
    public var changes: some AsyncSequence<ReplayJob, ReplayError> & Sendable { ReplayChanges(queue: self) }
}

/// The sequence of ``ReplayQueue/changes``.
struct ReplayChanges: AsyncSequence, Sendable {
    typealias Element = ReplayJob
    typealias Failure = ReplayError

    let queue: ReplayQueue

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let reader: Reader
        /// The last read; `nil` before the first.
        fileprivate var last: Reader.Read?
        /// The changes that were read but not returned yet, the latest first.
        fileprivate var changes: [ReplayJob] = []

        mutating func next() async throws(ReplayError) -> ReplayJob? {
            while changes.isEmpty {
                if let last { await reader.pause(since: last) }
                guard !Task.isCancelled else { return nil }
                let read = try await reader.read(after: last)
                last = read
                changes = read.jobs.reversed()
                if changes.isEmpty { await reader.wait() }
            }
            return changes.removeLast()
        }
    }

    /// Returns an iterator of the changes after this call.
    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: Reader(queue)) }
}

extension ReplayChanges {
    /// The reader of an iteration. It listens to the changes by this process until it is released.
    fileprivate final class Reader: Sendable {
        /// One read of the changes.
        struct Read: Sendable {
            var poller: JobPoller
            /// The changed jobs, the oldest change first.
            var jobs: [ReplayJob]
            /// The time of the read.
            var uptime: Uptime
        }

        /// The minimum time between two reads, in milliseconds.
        private static let pause: Int64 = 100

        private let queue: ReplayQueue
        private let signal: Signal
        private let number: Int
        /// The start of the iteration.
        private let start: Uptime

        init(_ queue: ReplayQueue) {
            let signal = Signal()
            self.queue = queue
            self.signal = signal
            number = queue.listeners.add { _ in signal.wake() }
            start = queue.clock.uptime()
        }

        deinit { queue.listeners.remove(number) }

        /// Reads the changes since the last read. It does not run on the caller's actor.
        @concurrent
        func read(after last: Read?) async throws(ReplayError) -> Read {
            var poller = if let last { last.poller } else { try JobPoller(queue, since: start) }
            let uptime = queue.clock.uptime()
            let jobs = try poller.next()
            return Read(poller: poller, jobs: jobs, uptime: uptime)
        }

        /// Waits until the minimum time since the last read has passed, or the task is canceled.
        func pause(since last: Read) async {
            let left = (last.uptime + Self.pause).milliseconds(since: queue.clock.uptime())
            if left > 0 { await Signal().wait(within: TimeLimit(.milliseconds(left), by: queue.clock.sleep)) }
        }

        /// Waits for a change by this process, or for the next read of other processes' changes.
        func wait() async { await signal.wait(within: TimeLimit(.seconds(1), by: queue.clock.sleep)) }
    }
}
