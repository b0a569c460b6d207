#if Curl && canImport(CDiamondCurl)
import DiamondSQLite
import Foundation

/// A task that moves the pieces of a request's body into a buffer, no faster than they are sent.
final class UploadFeeder: Sendable {
    private struct State {
        var buffer = UploadBuffer()
        /// The number of bytes received from the stream, including those sent already.
        var received: Int64 = 0
        var isComplete = false
        var failure: TransportError?
        /// Whether libcurl has found nothing to send.
        var isWaiting = false
        var isStarted = false
        var task: Task<Void, Never>?
    }

    private let state = Guarded(State())
    private let hasRoom = Signal()
    private let length: Int64?
    private let window: CurlWindow
    private let resume: @Sendable () -> Void
    private let pieces: any AsyncSequence<Data, any Error> & Sendable

    /// - Parameter resume: called when there is something to send after a `wait`.
    init(
        _ pieces: any AsyncSequence<Data, any Error> & Sendable,
        length: Int64?,
        window: CurlWindow,
        resume: @escaping @Sendable () -> Void
    ) {
        self.length = length
        self.window = window
        self.resume = resume
        self.pieces = pieces
    }

    /// Starts to read the stream, unless it is read already. The first ``read(into:)`` does so, too.
    func start() {
        state.withLock { state in
            guard !state.isStarted else { return }
            state.isStarted = true
            state.task = Task { await feed(from: pieces) }
        }
    }

    // MARK: libcurl's side

    func read(into target: UnsafeMutableRawBufferPointer) -> CurlUpload.Reading {
        start()
        let reading = state.withLock { state -> CurlUpload.Reading in
            if let failure = state.failure { return .failed(failure) }
            let count = state.buffer.read(into: target)
            state.isWaiting = count == 0 && !state.isComplete
            return state.isWaiting ? .wait : .bytes(count)
        }
        hasRoom.wake()
        return reading
    }

    func stop() {
        let task = state.withLock { state in
            state.isStarted = true
            defer {
                state.task = nil
                state.buffer = UploadBuffer()
            }
            return state.task
        }
        task?.cancel()
        hasRoom.wake()
    }

    // MARK: The stream's side

    private func feed(from pieces: any AsyncSequence<Data, any Error> & Sendable) async {
        do {
            for try await piece in pieces {
                guard !Task.isCancelled, add(piece) else { return }
                while isFull, !Task.isCancelled { await hasRoom.wait() }
            }
            complete()
        } catch {
            fail("failed: see the cause", cause: error)
        }
    }

    private var isFull: Bool { state.withLock { $0.buffer.count >= window.size } }

    /// Adds a piece; returns `false` if the body is longer than its length.
    private func add(_ piece: Data) -> Bool {
        let isTooLong = state.withLock { state in
            state.received += Int64(piece.count)
            return length.map { state.received > $0 } ?? false
        }
        if isTooLong { fail("is longer than its length") } else { update { $0.buffer.append(piece) } }
        return !isTooLong
    }

    private func complete() {
        let received = state.withLock { $0.received }
        guard received >= length ?? 0 else { return fail("ended before its length") }
        update { $0.isComplete = true }
    }

    private func fail(_ what: String, cause: (any Error)? = nil) {
        let failure = TransportError.badStream(what, serverMayHaveActed: true, cause: cause)
        update { $0.failure = failure }
    }

    private func update(_ change: (inout State) -> Void) {
        let wasWaiting = state.withLock { state in
            change(&state)
            defer { state.isWaiting = false }
            return state.isWaiting
        }
        if wasWaiting { resume() }
    }
}
#endif
