import Diamond
import Foundation
import HTTPTypes

/// A model is loaded with its ``Model/request(for:body:)``. Without an engine, a URL or the server's id it is static.
extension Model: Loadable {
    /// The object in the response to a load.
    public struct Loaded: Sendable {
        let object: ObjectMembers?
        let age: Duration
    }

    /// The state of loading.
    public final var loadState: LoadState { syncing.loadState }

    /// Whether the object can be loaded from a server.
    final var canLoad: Bool {
        serverID != nil && server?.engine != nil
    }

    /// Whether the object is loaded, or has come with JSON that has more than its id, as in a list.
    public final var hasContent: Bool {
        trackSyncState()
        return loadState.isLoaded || tracking.source?.contains { $0.key != Self.idKey } == true
    }

    public final func observeContent(_ receive: @escaping () -> Void) -> ObserverToken? { observe { _ in receive() } }

    public final var loadContext: ModelContext? { context }

    public final func loader(for load: Load) throws -> (@concurrent @Sendable () async throws -> Loaded)? {
        try checkContext()
        guard canLoad, load.scope != .more else { return nil }
        let engine = try requiredEngine()
        var request = try sentRequest(for: .fetch, body: nil)
        if let policy = load.policy { request.cache = policy }
        let type = type(of: self)
        _ = context?.overlay.name(of: type)
        return { [request, identities = context?.identities] in
            await identities?.note(request, of: type, with: engine)
            return try await engine.output(of: request) { response in
                let object = try type.object(in: response)
                if object == nil { try response.checkThatBodyIsObject() }
                return Loaded(object: object, age: response.age)
            }
        }
    }

    public final func apply(_ loaded: Loaded, of load: Load) throws {
        guard let object = loaded.object else { return }
        try checkSubject(of: object)
        try merge(object)
    }

    public final func age(of loaded: Loaded) -> Duration? { loaded.age }

    public final func invalidator(isErasure: Bool) throws -> (@concurrent @Sendable () async throws -> Void)? {
        try checkContext()
        guard canLoad else { return nil }
        let engine = try requiredEngine()
        let request = try sentRequest(for: .fetch, body: nil)
        return { try await engine.invalidate([request], isErasure: isErasure) }
    }

    /// Throws for another object than this one.
    final func checkSubject(of object: ObjectMembers) throws {
        guard let id = serverID, let other = object.id(at: Self.idKey), other != id else { return }
        throw ModelError.otherObject(other, for: id)
    }
}

extension Engine {
    /// Marks the cached responses to requests as stale, or erases them.
    func invalidate(_ requests: [Request], isErasure: Bool) async throws {
        for request in requests { _ = try await isErasure ? purge(request) : invalidate(request) }
    }
}

extension Response {
    /// The `Age` of the response; zero without that header.
    var age: Duration { headers[.age].flatMap { Int64($0) }.map { .seconds(max($0, 0)) } ?? .zero }

    /// Returns the object in the body; `nil` for an empty body, and for JSON of another kind.
    func bodyObject() throws -> ObjectMembers? {
        let item: JSONItem?
        do { item = try self.item(isolatesFaults: true) } catch {
            throw ModelError(.malformed, "the body is not JSON: \(error)")
        }
        if let fault = item?.fault { throw ModelError(.malformed, "the JSON object cannot be read: \(fault)") }
        return item.flatMap(ObjectMembers.init)
    }

    /// Throws for a body with JSON of another kind than an object. A body that is no JSON is left to the hook that has
    /// found no object in it.
    func checkThatBodyIsObject() throws { _ = try (try? item(isolatesFaults: true))?.modelObject() }
}
