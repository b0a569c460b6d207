#if Curl && canImport(CDiamondCurl)
import DiamondSQLite
import Foundation

/// The body of a request on its way up.
final class CurlUpload: Sendable {
    /// What there is to send now.
    enum Reading {
        /// Bytes written into the buffer; 0 at the end.
        case bytes(Int)
        /// Nothing yet: ask again after the resumption.
        case wait
        case failed(TransportError)
    }

    private struct State {
        var buffer: Data
        var offset = 0
        var isComplete: Bool
        var failure: TransportError?
        var isWaiting = false
        var feeder: Task<Void, Never>?
    }

    private static let highWater = 1 << 20

    private let state: Guarded<State>
    private let room = Room()
    private let resume: @Sendable () -> Void
    private let isStream: Bool

    /// - Parameter resume: called when there is something to send after a `wait`.
    init(_ body: TransportBody, resume: @escaping @Sendable () -> Void) {
        self.resume = resume
        switch body {
        case .none:
            isStream = false
            state = Guarded(State(buffer: Data(), isComplete: true))
        case .bytes(let data):
            isStream = false
            state = Guarded(State(buffer: data, isComplete: true))
        case .stream(_, let make):
            isStream = true
            state = Guarded(State(buffer: Data(), isComplete: false))
            feed(from: make())
        }
    }

    func read(into target: UnsafeMutableRawBufferPointer) -> Reading {
        let reading = state.withLock { state -> Reading in
            if let failure = state.failure { return .failed(failure) }
            let rest = state.buffer.dropFirst(state.offset)
            guard !rest.isEmpty else {
                state.isWaiting = !state.isComplete
                return state.isComplete ? .bytes(0) : .wait
            }
            let count = rest.prefix(target.count).copyBytes(to: target)
            state.offset += count
            if isStream, state.offset == state.buffer.count { (state.buffer, state.offset) = (Data(), 0) }
            return .bytes(count)
        }
        if isStream { room.open() }
        return reading
    }

    /// Bytes in memory can be sent again; a stream is gone.
    func rewind(to offset: Int) -> Bool {
        guard !isStream else { return false }
        return state.withLock { state in
            state.offset = min(offset, state.buffer.count)
            return true
        }
    }

    func stop() {
        let feeder = state.withLock { state in
            defer { state.feeder = nil }
            return state.feeder
        }
        feeder?.cancel()
        room.open()
    }

    // MARK: Feeding

    private func feed(from pieces: any AsyncSequence<Data, any Error> & Sendable) {
        let feeder = Task {
            do {
                for try await piece in pieces {
                    guard !Task.isCancelled else { return }
                    add(piece)
                    while isFull, !Task.isCancelled { await room.wait() }
                }
                complete(nil)
            } catch {
                let message = "the stream of the request's body failed: see the cause"
                complete(TransportError(.badRequestBody, message, requestMayHaveBeenSent: true, cause: error))
            }
        }
        state.withLock { $0.feeder = feeder }
    }

    private var isFull: Bool { state.withLock { $0.buffer.count - $0.offset >= Self.highWater } }

    private func add(_ piece: Data) {
        update { $0.buffer.append(piece) }
    }

    private func complete(_ failure: TransportError?) {
        update { state in
            state.isComplete = true
            state.failure = failure
        }
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
