import DiamondSQLite
import HTTPTypes

/// The handlers for the results of queued calls, by the kind of the call.
final class ReplayHandlers: Sendable {
    /// Receives the response of a job, and the engine's decoder.
    typealias Handler = @Sendable (ReplayJob.ID, Result<Response, ConnectionError>, any ResponseDecoder) async -> Void

    private let handlers: Guarded<[ExactText: Handler]>
    private let decoder: any ResponseDecoder

    /// - Parameter decoder: the decoder of handlers that have none of their own.
    init(_ handlers: [ExactText: Handler], decoder: any ResponseDecoder) {
        self.handlers = Guarded(handlers)
        self.decoder = decoder
    }

    /// Returns a handler that receives the outputs of calls of a type.
    static func handler<Call: Endpoint>(
        of type: Call.Type,
        decoder: (any ResponseDecoder)?,
        _ handle: @escaping @Sendable (ReplayJob.ID, Result<Call.Output, ConnectionError>) async -> Void
    ) -> Handler {
        { id, response, engineDecoder in
            await handle(id, response.flatMap { $0.replayed(as: type, using: decoder ?? engineDecoder) })
        }
    }

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
        await handler(id, response, decoder)
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
