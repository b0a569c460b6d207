import DiamondSQLite
import Foundation

/// Passes a body to a sink of the app. After a cancel, or when the engine is closed, it does not wait for a call of the
/// sink to return.
final class DownloadFeed: DownloadTarget {
    private struct State {
        var size = 0
        var isComplete = false
    }

    let limit: Int
    let progress: (@Sendable (TransferProgress) -> Void)?
    private let sink: any DownloadSink
    private let waits: PendingWaits
    private let state = Guarded(State())

    init(
        _ sink: any DownloadSink,
        limit: Int,
        progress: (@Sendable (TransferProgress) -> Void)? = nil,
        among waits: PendingWaits
    ) {
        self.sink = sink
        self.limit = limit
        self.progress = progress
        self.waits = waits
    }

    var file: URL? { nil }
    var size: Int { state.withLock { $0.size } }
    var isComplete: Bool { state.withLock { $0.isComplete } }

    func begin(_ head: Response) async throws(TransportError) {
        state.withLock { $0.size = 0 }
        try await call { try await $0.begin(head) }
    }

    func append(_ piece: Data) async throws(TransportError) {
        guard !piece.isEmpty else { return }
        try await call { try await $0.write(piece) }
        state.withLock { $0.size += piece.count }
    }

    func complete() { state.withLock { $0.isComplete = true } }

    func publish() async throws(ConnectionError) {
        do throws(TransportError) { try await call { try await $0.finish() } } catch { throw ConnectionError(error) }
    }

    func discard() {}

    private func call(
        _ body: @escaping @Sendable (any DownloadSink) async throws -> Void
    ) async throws(TransportError) {
        let outcome = await waits.value(isBeforeWire: false) { [sink] in
            await Result { () async throws in
                // No call begins after the download has ended.
                try Task.checkCancellation()
                try await body(sink)
            }
        }
        switch outcome {
        case .success(.success): return
        case .success(.failure(let error)): throw TransportError(ofSink: error)
        case .failure(.closed):
            let message = "the engine was closed before the sink had the whole body: make a new engine"
            throw TransportError(.closed, message, serverMayHaveActed: true)
        case .failure: throw .cancelled(serverMayHaveActed: true)
        }
    }
}

extension TransportError {
    fileprivate init(ofSink error: any Error) {
        guard !(error is CancellationError) else {
            self = .cancelled(serverMayHaveActed: true)
            return
        }
        let message = "the sink refused the body: \(error)".printable
        self.init(.destinationFailed, message, serverMayHaveActed: true, cause: error)
    }
}
