import Diamond
import Foundation
import HTTPTypes

/// A model is loaded by its ``Model/request(for:body:)``; one without an engine, a URL or the server's id is static.
extension Model: Loadable {
    /// The object as a load has brought it.
    public struct Loaded: Sendable {
        let json: JSONValue?
        let age: Duration
    }

    /// The state of loading.
    public final var loadState: LoadState { syncing.loadState }

    /// Whether there is a server to load it from.
    final var canLoad: Bool {
        serverID != nil && server?.engine != nil
    }

    public final var loadContext: ModelContext? { context }

    public final func loader(for load: Load) throws -> (@concurrent @Sendable () async throws -> Loaded)? {
        guard canLoad, load.scope != .more else { return nil }
        let engine = try requiredEngine()
        var request = try request(for: .fetch, body: nil)
        if let policy = load.policy { request.cache = policy }
        let type = type(of: self)
        return { [request] in
            try await engine.output(of: request) { response in
                Loaded(json: try type.object(in: response), age: response.age)
            }
        }
    }

    public final func apply(_ loaded: Loaded, of load: Load) throws {
        guard let json = loaded.json else { return }
        try checkSubject(of: json)
        try merge(json)
    }

    public final func age(of loaded: Loaded) -> Duration? { loaded.age }

    public final func invalidator(isErasure: Bool) throws -> (@concurrent @Sendable () async throws -> Void)? {
        guard canLoad else { return nil }
        let engine = try requiredEngine()
        let request = try request(for: .fetch, body: nil)
        return { try await engine.invalidate([request], isErasure: isErasure) }
    }

    /// Refuses the JSON of another object.
    final func checkSubject(of json: JSONValue) throws {
        guard let id = serverID, let other = try json.modelObject()[Self.idKey].flatMap(ModelID.init(json:)),
            other != id
        else { return }
        throw ModelError.otherObject(other, for: id)
    }
}

extension Engine {
    /// Marks what is stored for requests as stale, or erases it.
    func invalidate(_ requests: [Request], isErasure: Bool) async throws {
        for request in requests { _ = try await isErasure ? purge(request) : invalidate(request) }
    }
}

extension Response {
    /// The time since the server has made the answer, where it says so.
    var age: Duration { headers[.age].flatMap { Int64($0) }.map { .seconds(max($0, 0)) } ?? .zero }

    func bodyAsJSON() throws -> JSONValue? {
        do { return try json() } catch { throw ModelError(.malformed, "the body is not JSON: \(error)") }
    }
}
