import DiamondSQLite
import HTTPTypes

/// The handlers for the results of queued calls, by the kind of the call.
final class ReplayHandlers: Sendable {
    typealias Handler = @Sendable (ReplayJob.ID, Result<Response, ConnectionError>) async -> Void

    private let handlers = Guarded<[ExactText: Handler]>([:])

    func add(kind: String, handler: @escaping Handler) {
        // The replaced handler is freed after the lock is released, because it may retain objects of the app.
        _ = handlers.withLock { $0.updateValue(handler, forKey: ExactText(kind)) }
    }

    /// Calls the handler of a kind, if the job has ended.
    func report(
        _ response: Result<Response, ConnectionError>,
        of id: ReplayJob.ID?,
        kind: String?,
        state: ReplayState?
    ) async {
        guard let state, state.isEnd, let kind, let id,
            let handler = handlers.withLock({ $0[ExactText(kind)] })
        else { return }
        await handler(id, response)
    }
}

extension Response {
    func replayed<Call: Endpoint>(
        as type: Call.Type,
        using decoder: any ResponseDecoder
    ) -> Result<Call.Output, ConnectionError> {
        Result { () throws(ConnectionError) in try successfulOutput(as: type, using: decoder) }
    }
}
