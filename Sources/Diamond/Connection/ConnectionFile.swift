import DiamondSQLite
import Foundation

/// The file that a connection writes in all its runs. A run continues with the bytes of a run that a pause has ended.
final class ConnectionFile: Sendable {
    private struct State {
        /// The incomplete file.
        var part: DownloadFile?
        /// Fulfilled when the latest run is over.
        var end: Promise<Void>?
        /// The size of the complete file in bytes.
        var size: Int?
        var isClosed = false
        /// Whether the connection is canceled because its engine is closed.
        var isEngineClosed = false
    }

    let url: URL
    private let state: Guarded<State>

    init(_ url: URL, size: Int? = nil, part: DownloadFile? = nil) {
        self.url = url
        state = Guarded(State(part: part, size: size))
    }

    /// The size of the file in bytes; `nil` if the file is not complete.
    var size: Int? { state.withLock { $0.size } }

    /// Downloads the response to the file, and returns when the file is complete and has its name.
    ///
    /// - Returns: a response without body.
    /// - Throws: ``ConnectionError``; `cancelled` if the connection has finished.
    func response(
        to request: Request,
        over pipeline: Pipeline,
        for caller: Caller
    ) async throws(ConnectionError) -> Response {
        let end = await begin(caller)
        defer { self.end(end) }
        let part = try part(of: request, seal: pipeline.seal)
        do throws(ConnectionError) {
            let download = try await pipeline.download(request, into: part, for: caller)
            state.withLock { $0.size = download.size }
            return download.head
        } catch {
            // A complete file that was not renamed has no rest to request.
            if part.isComplete { discard() }
            throw error
        }
    }

    /// Notes that the connection will be canceled because its engine is closed. A recorded part stays.
    func noteClosedEngine() { state.withLock { $0.isEngineClosed = true } }

    /// Leaves or discards the incomplete file, because the connection has finished. One of its runs may still wait for
    /// the run before.
    func close(after outcome: ConnectionLife.Outcome?) {
        let (part, isEngineClosed) = state.withLock { state in
            state.isClosed = true
            return (state.part, state.isEngineClosed)
        }
        guard case .failure(let error) = outcome, part?.staysAfter(error, isEngineClosed: isEngineClosed) == true else {
            return discard()
        }
        state.withLock { $0.part = nil }
    }

    private func discard() {
        let part = state.withLock { state in
            defer { state.part = nil }
            return state.part
        }
        part?.discard()
    }

    private func part(of request: Request, seal: (any CacheSeal)?) throws(ConnectionError) -> DownloadFile {
        let part = state.withLock { state -> DownloadFile? in
            guard !state.isClosed else { return nil }
            let part = state.part ?? DownloadFile(url, limit: request.bodyLimit ?? .max, seal: seal)
            state.part = part
            return part
        }
        guard let part else { throw .cancelled }
        return part
    }

    // MARK: One run at a time

    /// Waits for the run before, which a pause has ended, and which may still be writing received bytes.
    private func begin(_ caller: Caller) async -> Promise<Void> {
        let end = Promise<Void>()
        let before = state.withLock { state in
            defer { state.end = end }
            return state.end
        }
        guard let before else { return end }
        // A canceled run waits as well: it must not overtake the run before.
        await caller.whileWaiting { await before.value() }
        return end
    }

    private func end(_ end: Promise<Void>) {
        state.withLock { state in if state.end?.id == end.id { state.end = nil } }
        end.fulfill(with: ())
    }
}
