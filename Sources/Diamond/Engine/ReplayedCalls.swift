import DiamondSQLite
import HTTPTypes

/// The handlers for the results of kept calls, by the kind of the call.
final class ReplayedCalls: Sendable {
    typealias Handler = @Sendable (ReplayJob.ID, Result<Response, ConnectionError>) async -> Void

    private let handlers = Guarded<[ExactText: Handler]>([:])

    func add(_ kind: String, _ handler: @escaping Handler) {
        // The one in whose place it comes is freed where no lock is held: what it keeps is the app's.
        _ = handlers.withLock { $0.updateValue(handler, forKey: ExactText(kind)) }
    }

    func tell(
        _ kind: String?,
        _ id: ReplayJob.ID?,
        _ state: ReplayState?,
        _ response: Result<Response, ConnectionError>
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
        _ decoder: any ResponseDecoder
    ) -> Result<Call.Output, ConnectionError> {
        guard status.kind == .successful else { return .failure(ConnectionError(badStatus: self)) }
        return Result { () throws(ConnectionError) in try output(as: type, decoder) }
    }
}
