import DiamondSQLite
import Foundation

/// A bounded buffer between a body's producer and its only consumer. It has no thread of its own.
struct BodyPipe: Sendable {
    /// The request to the producer after a piece.
    enum Demand { case more, pause, stop }

    // Unsafe, because a checked continuation costs an allocation. The state ensures that it is resumed once. The value
    // is `true` if no other reader waits.
    fileprivate typealias Waiter = UnsafeContinuation<Bool, Never>

    fileprivate struct State {
        var buffer = Data()
        var end: End?
        var waiter: Waiter?
        /// The limit of ``collect(limit:onProgress:)``. Once it is set, the waiter is resumed only at the end, and the
        /// producer never pauses.
        var limit: Int?
        /// Called with the number of bytes so far, while the whole body is collected.
        var onProgress: (@Sendable (Int) -> Void)?
        var isPaused = false
        var onResume: (@Sendable () -> Void)?
        var onStop: (@Sendable () -> Void)?
    }

    fileprivate enum End {
        case complete
        case failed(TransportError)
    }

    private let state = Guarded(State())
    private let highWater: Int

    /// - Parameter highWater: the number of buffered bytes from which the producer is asked to pause.
    init(highWater: Int = 1 << 20) { self.highWater = highWater }

    // MARK: The producer's side

    /// Sets the functions to call when the producer may resume after a pause, and when the consumer stops reading. Both
    /// are called on the consumer's thread, outside the lock.
    func connect(onResume: @escaping @Sendable () -> Void, onStop: @escaping @Sendable () -> Void) {
        state.withLock { state in
            guard state.end == nil else { return }
            state.onResume = onResume
            state.onStop = onStop
        }
    }

    /// Removes the functions that ``connect(onResume:onStop:)`` set, because the producer has ended.
    func disconnect() {
        state.withLock {
            $0.onResume = nil
            $0.onStop = nil
        }
    }

    func yield(_ data: Data) -> Demand {
        // The first piece is stored without a copy, because it is often the whole body. A slice is copied, because
        // readers may index from 0.
        yield(upTo: highWater) { buffer in
            if buffer.isEmpty, data.startIndex == 0 { buffer = data } else { buffer.append(data) }
        }
    }

    /// Appends a piece.
    ///
    /// - Parameter highWater: the number of buffered bytes from which the producer is asked to pause; `nil` for that of
    ///   the pipe.
    /// - Returns: the demand for the next piece. After `pause` this piece is buffered nevertheless.
    func yield(bytes: UnsafeRawBufferPointer, highWater: Int? = nil) -> Demand {
        yield(upTo: highWater ?? self.highWater) { buffer in
            if let start = bytes.baseAddress {
                buffer.append(start.assumingMemoryBound(to: UInt8.self), count: bytes.count)
            }
        }
    }

    private func yield(upTo highWater: Int, _ append: (inout Data) -> Void) -> Demand {
        let (demand, waiter, progress) = state.withLock { state -> State.Yielding in
            guard state.end == nil else { return (.stop, nil, nil) }
            append(&state.buffer)
            if let limit = state.limit {
                return state.buffer.count > limit
                    ? (.stop, state.removeWaiter(), nil) : (.more, nil, state.progress)
            }
            state.isPaused = state.buffer.count >= highWater
            return (state.isPaused ? .pause : .more, state.removeWaiter(), nil)
        }
        waiter?.resume(returning: true)
        progress?.report(progress?.count ?? 0)
        return demand
    }

    /// Whether the producer was asked to pause.
    var isFull: Bool { state.withLock { $0.isPaused } }

    func reserve(_ count: Int) { state.withLock { $0.buffer.reserveCapacity(Swift.min(count, highWater)) } }

    /// Ends the body; only the first end counts.
    func finish(_ error: TransportError?) {
        let waiter = state.withLock { state in
            guard state.end == nil else { return nil as Waiter? }
            state.end = error.map(End.failed) ?? .complete
            state.onResume = nil
            state.onStop = nil
            return state.removeWaiter()
        }
        waiter?.resume(returning: true)
    }

    // MARK: The consumer's side

    /// Returns all buffered bytes, or waits for the next; `nil` at the end. If the reading task is canceled, the
    /// buffered bytes are the last.
    func next() async throws(TransportError) -> Data? {
        // A consumer slower than the wire never waits, so the cancellation handler of a wait would not run.
        if Task.isCancelled { stop(.cancelled(serverMayHaveActed: true), dropsRest: false) }
        while true {
            let (outcome, onResume) = state.withLock { state in state.removePiece() }
            onResume?()
            if let outcome { return try outcome.get() }
            try await wait()
        }
    }

    /// Returns the whole body if it is complete; otherwise returns `nil` and leaves the buffer unchanged.
    func arrivedBody(upTo limit: Int) -> Data? {
        state.withLock { state in
            guard case .complete? = state.end, state.buffer.count <= limit else { return nil }
            defer { state.buffer = Data() }
            return state.buffer
        }
    }

    func collect(
        limit: Int,
        onProgress: (@Sendable (Int) -> Void)? = nil
    ) async throws(TransportError) -> Data {
        let (onResume, count) = state.withLock { state in
            state.limit = limit
            state.onProgress = onProgress
            return (state.unpause(), state.buffer.count)
        }
        onResume?()
        onProgress?(count)
        while true {
            let outcome = state.withLock { state in state.removeAll(limit: limit) }
            if let outcome {
                if case .failure = outcome { abandon() }
                return try outcome.get()
            }
            try await wait()
        }
    }

    /// Stops the body: the consumer reads no more.
    func abandon() {
        stop(TransportError(.cancelled, "the body was dropped before its end", serverMayHaveActed: true))
    }

    /// - Throws: `other` if another reader is waiting already.
    private func wait() async throws(TransportError) {
        let isAlone = await withTaskCancellationHandler {
            await withUnsafeContinuation { (waiter: Waiter) in
                let known = state.withLock { state -> Bool? in
                    if state.isReady { return true }
                    guard state.waiter == nil else { return false }
                    state.waiter = waiter
                    return nil
                }
                if let known { waiter.resume(returning: known) }
            }
        } onCancel: {
            stop(.cancelled(serverMayHaveActed: true))
        }
        guard isAlone else {
            let message = "a body has one reader at a time: let that reader pass the bytes on"
            throw TransportError(.other, message, serverMayHaveActed: true)
        }
    }

    private func stop(_ error: TransportError, dropsRest: Bool = true) {
        let (onStop, waiter, rest) = state.withLock { state in
            guard state.end == nil else {
                return (nil as (@Sendable () -> Void)?, nil as Waiter?, Data())
            }
            state.end = .failed(error)
            defer {
                state.onResume = nil
                state.onStop = nil
            }
            guard dropsRest else { return (state.onStop, state.removeWaiter(), Data()) }
            defer { state.buffer = Data() }
            return (state.onStop, state.removeWaiter(), state.buffer)
        }
        // The memory may be the app's, so it is freed outside the lock.
        withExtendedLifetime(rest) {}
        onStop?()
        waiter?.resume(returning: true)
    }
}

extension BodyPipe.State {
    fileprivate typealias ProgressReport = (count: Int, report: @Sendable (Int) -> Void)

    /// The number of bytes so far, and the function to report it to.
    fileprivate var progress: ProgressReport? { onProgress.map { (buffer.count, $0) } }

    /// The demand for the next piece, the reader to resume, and the progress to report.
    fileprivate typealias Yielding = (demand: BodyPipe.Demand, waiter: BodyPipe.Waiter?, progress: ProgressReport?)

    fileprivate typealias Outcome<Value> = Result<Value, TransportError>

    fileprivate mutating func removeWaiter() -> BodyPipe.Waiter? {
        defer { waiter = nil }
        return waiter
    }

    fileprivate mutating func unpause() -> (@Sendable () -> Void)? {
        guard isPaused else { return nil }
        isPaused = false
        return onResume
    }

    /// Whether the consumer can proceed without waiting.
    fileprivate var isReady: Bool {
        if end != nil { return true }
        return limit.map { buffer.count > $0 } ?? !buffer.isEmpty
    }

    fileprivate mutating func removePiece() -> (outcome: Outcome<Data?>?, onResume: (@Sendable () -> Void)?) {
        if !buffer.isEmpty {
            defer { buffer = Data() }
            return (.success(buffer), unpause())
        }
        switch end {
        case .complete: return (.success(nil), nil)
        case .failed(let error): return (.failure(error), nil)
        case nil: return (nil, nil)
        }
    }

    fileprivate mutating func removeAll(limit: Int) -> Outcome<Data>? {
        if buffer.count > limit { return .failure(TransportError(bodyLargerThan: limit)) }
        switch end {
        case .complete:
            defer { buffer = Data() }
            return .success(buffer)
        case .failed(let error): return .failure(error)
        case nil: return nil
        }
    }
}
