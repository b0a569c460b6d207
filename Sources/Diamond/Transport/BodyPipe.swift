import DiamondSQLite
import Foundation

/// The bounded buffer between a body's producer and its one consumer. It has no thread of its own.
struct BodyPipe: Sendable {
    /// The producer's next step after a piece.
    enum Demand { case more, pause, stop }

    // Unsafe: the state resumes it once, and a checked one costs an allocation. With whether nobody else waits.
    fileprivate typealias Waiter = UnsafeContinuation<Bool, Never>

    fileprivate struct State {
        var buffer = Data()
        var end: End?
        var waiter: Waiter?
        /// Set once the whole body is wanted: the waiter is woken at its end only, and nothing pauses.
        var limit: Int?
        /// Called with the number of bytes so far, while the whole body is waited for.
        var whenMore: (@Sendable (Int) -> Void)?
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

    /// - Parameter highWater: bytes buffered from which on the producer is asked to pause.
    init(highWater: Int = 1 << 20) { self.highWater = highWater }

    // MARK: The producer's side

    /// Sets the functions to call when there is room again after a pause, and when the consumer stops reading. Both are
    /// called without a lock held, on the consumer's thread.
    func connect(onResume: @escaping @Sendable () -> Void, onStop: @escaping @Sendable () -> Void) {
        state.withLock { state in
            guard state.end == nil else { return }
            state.onResume = onResume
            state.onStop = onStop
        }
    }

    /// Removes the functions that ``connect(onResume:onStop:)`` has set: the producer has ended, or the consumer can
    /// ask for nothing more.
    func disconnect() {
        state.withLock { ($0.onResume, $0.onStop) = (nil, nil) }
    }

    func yield(_ data: Data) -> Demand {
        // A first piece is taken as it is: often it is all. Not one that begins elsewhere: whoever reads may count from 0.
        yield { buffer in if buffer.isEmpty, data.startIndex == 0 { buffer = data } else { buffer.append(data) } }
    }

    /// Takes a piece, whatever it returns; `pause` and `stop` are about the next one.
    func yield(bytes: UnsafeRawBufferPointer) -> Demand {
        yield { buffer in
            if let start = bytes.baseAddress {
                buffer.append(start.assumingMemoryBound(to: UInt8.self), count: bytes.count)
            }
        }
    }

    private func yield(_ append: (inout Data) -> Void) -> Demand {
        let (demand, waiter, news) = state.withLock { state -> (Demand, Waiter?, State.News?) in
            guard state.end == nil else { return (.stop, nil, nil) }
            append(&state.buffer)
            if let limit = state.limit {
                return state.buffer.count > limit
                    ? (.stop, state.takeWaiter(), nil) : (.more, nil, state.news)
            }
            state.isPaused = state.buffer.count >= highWater
            return (state.isPaused ? .pause : .more, state.takeWaiter(), nil)
        }
        waiter?.resume(returning: true)
        news?.tell(news?.count ?? 0)
        return demand
    }

    /// Whether the next piece would be held back.
    var isFull: Bool { state.withLock { $0.isPaused } }

    func reserve(_ count: Int) { state.withLock { $0.buffer.reserveCapacity(Swift.min(count, highWater)) } }

    /// Ends the body; only the first end counts.
    func finish(_ error: TransportError?) {
        let waiter = state.withLock { state in
            guard state.end == nil else { return nil as Waiter? }
            state.end = error.map(End.failed) ?? .complete
            (state.onResume, state.onStop) = (nil, nil)
            return state.takeWaiter()
        }
        waiter?.resume(returning: true)
    }

    // MARK: The consumer's side

    /// Returns all bytes that have arrived, or waits for the next; `nil` at the end. If the reading task is canceled,
    /// no more bytes come, and those that have arrived are the last.
    func next() async throws(TransportError) -> Data? {
        // Whoever is slower than the wire never waits, and would not hear of it.
        if Task.isCancelled { stop(.cancelled(requestMayHaveBeenSent: true), dropsRest: false) }
        while true {
            let (outcome, onResume) = state.withLock { state in state.take() }
            onResume?()
            if let outcome { return try outcome.get() }
            try await wait()
        }
    }

    /// Returns the whole body if all of it has arrived; else takes nothing and returns `nil`.
    func whole(upTo limit: Int) -> Data? {
        state.withLock { state in
            guard case .complete? = state.end, state.buffer.count <= limit else { return nil }
            defer { state.buffer = Data() }
            return state.buffer
        }
    }

    func collect(
        limit: Int,
        whenMore: (@Sendable (Int) -> Void)? = nil
    ) async throws(TransportError) -> Data {
        let (onResume, count) = state.withLock { state in
            (state.limit, state.whenMore) = (limit, whenMore)
            return (state.unpause(), state.buffer.count)
        }
        onResume?()
        whenMore?(count)
        while true {
            let outcome = state.withLock { state in state.takeAll(limit: limit) }
            if let outcome {
                if case .failure = outcome { abandon() }
                return try outcome.get()
            }
            try await wait()
        }
    }

    /// Stops the body: the consumer reads no more.
    func abandon() {
        stop(TransportError(.cancelled, "the body was dropped before its end", requestMayHaveBeenSent: true))
    }

    /// - Throws: `other` if another reader waits already: nothing would wake that one any more.
    private func wait() async throws(TransportError) {
        let isAlone = await withTaskCancellationHandler {
            await withUnsafeContinuation { (waiter: Waiter) in
                let known = state.withLock { state -> Bool? in
                    if state.hasNews { return true }
                    guard state.waiter == nil else { return false }
                    state.waiter = waiter
                    return nil
                }
                if let known { waiter.resume(returning: known) }
            }
        } onCancel: {
            stop(.cancelled(requestMayHaveBeenSent: true))
        }
        guard isAlone else {
            let message = "a body is read by one at a time: let one reader hand it on to the others"
            throw TransportError(.other, message, requestMayHaveBeenSent: true)
        }
    }

    private func stop(_ error: TransportError, dropsRest: Bool = true) {
        let (onStop, waiter, rest) = state.withLock { state in
            guard state.end == nil else {
                return (nil as (@Sendable () -> Void)?, nil as Waiter?, Data())
            }
            state.end = .failed(error)
            defer { (state.onResume, state.onStop) = (nil, nil) }
            guard dropsRest else { return (state.onStop, state.takeWaiter(), Data()) }
            defer { state.buffer = Data() }
            return (state.onStop, state.takeWaiter(), state.buffer)
        }
        // It may be memory of the app's, which is freed where no lock is held.
        withExtendedLifetime(rest) {}
        onStop?()
        waiter?.resume(returning: true)
    }
}

extension BodyPipe.State {
    fileprivate typealias News = (count: Int, tell: @Sendable (Int) -> Void)

    /// The number of bytes so far, and the function that is told it.
    fileprivate var news: News? { whenMore.map { (buffer.count, $0) } }

    fileprivate typealias Outcome<Value> = Result<Value, TransportError>

    fileprivate mutating func takeWaiter() -> BodyPipe.Waiter? {
        defer { waiter = nil }
        return waiter
    }

    fileprivate mutating func unpause() -> (@Sendable () -> Void)? {
        guard isPaused else { return nil }
        isPaused = false
        return onResume
    }

    /// Whether the consumer need not wait.
    fileprivate var hasNews: Bool {
        if end != nil { return true }
        return limit.map { buffer.count > $0 } ?? !buffer.isEmpty
    }

    fileprivate mutating func take() -> (Outcome<Data?>?, (@Sendable () -> Void)?) {
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

    fileprivate mutating func takeAll(limit: Int) -> Outcome<Data>? {
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
