#if Tools
import Foundation
import NIOConcurrencyHelpers

/// Passes the body of a request, piece by piece, from the connection that reads it to the exchange that sends it.
final class UploadPipe: AsyncSequence, Sendable {
    typealias Element = Data

    /// The client left before the end of its body.
    struct Broken: Error {}

    private struct State {
        var piece: Data?
        var end: Result<Void, any Error>?
        /// Whether the exchange has asked for a piece.
        var isWanted = false
        /// Whether the exchange takes no more pieces.
        var isStopped = false
        var reader: CheckedContinuation<Void, Never>?
        var writer: CheckedContinuation<Void, Never>?

        var isReadable: Bool { piece != nil || end != nil || isStopped }
        var isWritable: Bool { piece == nil && isWanted || isStopped }
    }

    private let state = NIOLockedValueBox(State())

    // MARK: The connection's side

    /// Waits until the exchange takes a piece.
    ///
    /// - Returns: `false` if it takes no more.
    func waitUntilWanted() async -> Bool {
        await withCheckedContinuation { waiter in
            let isReady = state.withLockedValue { state in
                if !state.isWritable { state.writer = waiter }
                return state.isWritable
            }
            if isReady { waiter.resume() }
        }
        return state.withLockedValue { !$0.isStopped }
    }

    /// Passes a piece to the exchange.
    ///
    /// - Returns: `false` if the exchange takes no more.
    func send(_ piece: Data) async -> Bool {
        guard await waitUntilWanted() else { return false }
        resumeReader { $0.piece = piece }
        return true
    }

    func finish() { resumeReader { $0.end = .success(()) } }

    func fail() { resumeReader { if $0.end == nil { $0.end = .failure(Broken()) } } }

    private func resumeReader(_ change: (inout State) -> Void) {
        let reader = state.withLockedValue { state in
            change(&state)
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume()
    }

    // MARK: The exchange's side

    /// Takes no more pieces.
    func stop() {
        let waiters = state.withLockedValue { state in
            state.isStopped = true
            defer { (state.reader, state.writer) = (nil, nil) }
            return [state.reader, state.writer]
        }
        for waiter in waiters { waiter?.resume() }
    }

    struct Iterator: AsyncIteratorProtocol {
        fileprivate let pipe: UploadPipe

        func next() async throws -> Data? { try await pipe.next() }
    }

    func makeAsyncIterator() -> Iterator { Iterator(pipe: self) }

    private func next() async throws -> Data? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in wait(waiter) }
        } onCancel: {
            stop()
        }
        return try state.withLockedValue { state in
            if let piece = state.piece {
                state.piece = nil
                return piece
            }
            if let end = state.end { try end.get() } else { throw CancellationError() }
            return nil
        }
    }

    private func wait(_ waiter: CheckedContinuation<Void, Never>) {
        let (isReady, writer) = state.withLockedValue { state in
            state.isWanted = true
            if !state.isReadable { state.reader = waiter }
            let writer = state.isWritable ? state.writer : nil
            if writer != nil { state.writer = nil }
            return (state.isReadable, writer)
        }
        writer?.resume()
        if isReady { waiter.resume() }
    }
}
#endif
