import Diamond
import Foundation

/// The server of an object: the engine that sends its calls, and the request for its list.
struct ModelServer {
    var engine: Engine?
    /// The request for the list, without the parameters of a page: an object's URL does not have them.
    var list: Request

    init(engine: Engine?, list: Request) {
        self.engine = engine
        self.list = list
        self.list.parameters = Parameters()
        // A key of the list must not identify the responses of its objects.
        self.list.cacheKey = nil
        // When the call returns, the model is either saved or not: nothing is sent later.
        self.list.replay.mode = .never
    }
}

/// The state of a model's loads and saves.
final class ModelSyncing {
    /// The lock for the model's saves and deletions.
    let lock = AsyncLock()
    let loadState: LoadState
    /// The server of an object that is in no collection with a source: it is about to be added, or was deleted.
    var server: ModelServer?

    /// The id for URLs while a call is being queued and the server has not assigned an id.
    var urlID: ModelID?
    /// The visible changes whose saves were not answered, in order.
    var changes: [VisibleChange] = []
    /// The times at which the last merged values of properties were received while calls waited in the queue, by key.
    var mergeTimes: [String: Date] = [:]
    /// Whether a call is being written to the queue.
    var isEnqueueing = false
    /// The number of saves and deletions that wait for the answers to their queued calls.
    var awaited = 0
    /// The failure of the last queued call, until the next one.
    var failure: SaveFailure?

    init(_ loadState: LoadState) { self.loadState = loadState }

    /// Returns the keys of the properties whose values from the server are newer than an answer.
    func keysMerged(after answer: Date) -> Set<String> { Set(mergeTimes.filter { $0.value > answer }.keys) }
}

extension Model {
    final var syncing: ModelSyncing {
        if let syncing = tracking.syncing { return syncing }
        let state = LoadState(
            hasSource: { [weak self] in self.map { $0.canLoad || $0.hasLostContext } ?? false },
            now: { [weak self] in self?.context?.now() ?? Date() }
        )
        let syncing = ModelSyncing(state)
        tracking.syncing = syncing
        return syncing
    }

    /// The server of the object, from its class or from a collection that contains it.
    final var server: ModelServer? {
        // The order must not change, because the keys of queued calls have the list.
        let sources = orderedLinks.lazy.compactMap { ($0 as? Entry)?.owner?.source }
        let source = sources.first { $0.request != nil }
        let engine = context?.engine ?? source?.engine ?? tracking.syncing?.server?.engine
        guard let list = Self.resource ?? source?.request ?? tracking.syncing?.server?.list else { return nil }
        return ModelServer(engine: engine, list: context?.resolved(list) ?? list)
    }

    /// Throws ``ModelError`` `otherIdentity` if another identity is signed in than the one of the context's objects.
    final nonisolated(nonsending) func checkIdentity() async throws {
        guard let context, let server, let engine = server.engine else { return }
        _ = try await context.identities.identity(of: server.list, for: type(of: self), with: engine)
    }

    /// Whether the model had a context with an engine that was released.
    final var hasLostContext: Bool { tracking.hadEngine && context == nil }

    /// Throws ``ModelError`` `noContext` if the model's context was released.
    final func checkContext() throws {
        if hasLostContext { throw ModelError.released(type(of: self)) }
    }

    /// Returns the engine that sends the calls of the object.
    ///
    /// - Throws: ``ModelError`` `noContext`, `noEngine`.
    final func requiredEngine() throws -> Engine {
        try checkContext()
        if let engine = context?.engine ?? server?.engine { return engine }
        throw ModelError(
            .noEngine,
            "\(type(of: self)) has no engine: register it in a ModelContext(engine:), or add it to a collection")
    }
}

extension ModelError {
    static func otherObject(_ answered: ModelID, for id: ModelID) -> ModelError {
        ModelError(
            .otherObject, "the response is about \(answered), not \(id): nothing was written, check the request's URL")
    }
}
