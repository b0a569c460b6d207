import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The progress of an exchange over URLSession.
struct URLSessionProgress {
    private(set) var task: URLSessionDataTask?
    private var isHeadHere = false
    private var expectedLength: Int64?
    private var receivedLength: Int64 = 0
    private var last = ContinuousClock.now
    private var isSuspended = false
    private var isOver = false

    mutating func begin(_ task: URLSessionDataTask) { self.task = task }

    mutating func end() {
        task = nil
        isOver = true
    }

    /// Takes note of a response; `false` for another one than the first.
    ///
    /// - Parameter length: bytes that the body is to have, where that is known.
    mutating func receiveHead(expecting length: Int64?) -> Bool {
        guard !isHeadHere else { return false }
        isHeadHere = true
        last = .now
        expectedLength = length
        return true
    }

    mutating func receive(_ data: Data) {
        last = .now
        receivedLength += Int64(data.count)
    }

    /// - Returns: the task to be suspended or resumed, when it is not so already.
    mutating func suspend(_ isToBeSuspended: Bool) -> URLSessionDataTask? {
        guard isSuspended != isToBeSuspended else { return nil }
        isSuspended = isToBeSuspended
        last = .now
        return task
    }

    /// Returns the time at which the timeout may be over; `nil` if the exchange is over.
    func due(after timeout: Duration) -> ContinuousClock.Instant? {
        guard !isOver else { return nil }
        return (isSuspended ? .now : last) + timeout
    }

    /// Returns the error for a body that is shorter than its length.
    func truncation(_ error: (any Error)?) -> TransportError? {
        guard let expectedLength, receivedLength < expectedLength, error == nil || receivedLength > 0 else {
            return nil
        }
        let message = "the body ended before its length: try again"
        return TransportError(.truncatedBody, message, requestMayHaveBeenSent: true)
    }
}
