import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The progress of an exchange over URLSession.
struct URLSessionProgress {
    private(set) var task: URLSessionDataTask?
    private var hasHead = false
    private var expectedLength: Int64?
    private var receivedLength: Int64 = 0
    private var lastProgress = ContinuousClock.now
    private var isSuspended = false
    private var isOver = false

    mutating func begin(_ task: URLSessionDataTask) { self.task = task }

    mutating func end() {
        task = nil
        isOver = true
    }

    /// Records the head of a response.
    ///
    /// - Parameter length: the expected number of bytes of the body; `nil` if it is unknown.
    /// - Returns: `false` unless it is the first head.
    mutating func receiveHead(expecting length: Int64?) -> Bool {
        guard !hasHead else { return false }
        hasHead = true
        lastProgress = .now
        expectedLength = length
        return true
    }

    mutating func receive(_ data: Data) {
        lastProgress = .now
        receivedLength += Int64(data.count)
    }

    /// Records whether the task must be suspended.
    ///
    /// - Returns: The task to suspend or resume; `nil` if its state is right already.
    mutating func setSuspended(_ isSuspended: Bool) -> URLSessionDataTask? {
        guard self.isSuspended != isSuspended else { return nil }
        self.isSuspended = isSuspended
        lastProgress = .now
        return task
    }

    /// Returns the earliest time at which the timeout may have passed; `nil` if the exchange is over.
    func deadline(after timeout: Duration) -> ContinuousClock.Instant? {
        guard !isOver else { return nil }
        return (isSuspended ? .now : lastProgress) + timeout
    }

    /// Returns the error for a body that is shorter than its length.
    func truncation(after error: (any Error)?) -> TransportError? {
        guard let expectedLength, receivedLength < expectedLength, error == nil || receivedLength > 0 else {
            return nil
        }
        let message = "the body ended before its length: try again"
        return TransportError(.truncatedBody, message, serverMayHaveActed: true)
    }
}
