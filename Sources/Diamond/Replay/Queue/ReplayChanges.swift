/// The changes of a queue's jobs from now on, by this and other processes (``ReplayQueue/changes``).
///
/// Each element is a job in its latest state. A job that changes several times between two reads is returned once, so
/// that a slow reader has no backlog. Changes by this process are reported at once, changes by others within a second.
/// Deletions are not reported.
///
/// An iteration throws ``ReplayError`` if the file cannot be read, and ends when its task is canceled. The file is read
/// only while an iteration waits.
public struct ReplayChanges: AsyncSequence, Sendable {
    public typealias Element = ReplayJob
    public typealias Failure = ReplayError

    let queue: ReplayQueue

    @_documentation(visibility: internal)
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let reader: Reader
        fileprivate var poller: Result<JobPoller, ReplayError>
        /// The changes that were read but not returned yet, the latest first.
        fileprivate var changes: [ReplayJob] = []

        public mutating func next() async throws(ReplayError) -> ReplayJob? {
            while changes.isEmpty {
                guard !Task.isCancelled else { return nil }
                let read = try await reader.read(try poller.get())
                poller = .success(read.poller)
                changes = read.jobs.reversed()
                if changes.isEmpty { await reader.wait() }
            }
            return changes.removeLast()
        }
    }

    /// Returns an iterator of the changes after this call.
    public func makeAsyncIterator() -> Iterator {
        // The reader comes first, so that it is woken by changes after the poller's start.
        let reader = Reader(queue)
        return Iterator(
            reader: reader, poller: Result { () throws(ReplayError) in try JobPoller(queue) })
    }
}

extension ReplayQueue {
    /// The changes of jobs from the start of an iteration on, by this and other processes.
    ///
    /// ```swift
    /// for try await job in queue.changes { print("\(job)") }
    /// ```
    public var changes: ReplayChanges { ReplayChanges(queue: self) }
}

extension ReplayChanges {
    /// The reader of an iteration. It listens to the changes by this process until it is released.
    fileprivate final class Reader: Sendable {
        private let queue: ReplayQueue
        private let signal: Signal
        private let number: Int

        init(_ queue: ReplayQueue) {
            let signal = Signal()
            self.queue = queue
            self.signal = signal
            number = queue.listeners.add { _ in signal.wake() }
        }

        deinit { queue.listeners.remove(number) }

        /// Reads the changes since the last read. It does not run on the caller's actor.
        @concurrent
        func read(_ poller: JobPoller) async throws(ReplayError) -> (poller: JobPoller, jobs: [ReplayJob]) {
            var poller = poller
            let jobs = try poller.next()
            return (poller, jobs)
        }

        /// Waits for a change by this process, or for the next read of other processes' changes.
        func wait() async { await signal.wait(for: .seconds(1), by: queue.clock.sleep) }
    }
}
