/// The store's view of a query's request, read without sending anything.
struct QueryLookup: Sendable {
    /// A stored response.
    struct Stored: Sendable {
        let response: StoredResponse
        let condition: QueryEntry.Condition
    }

    /// The identity of the request; `nil` for none.
    let user: String?
    /// The subject of invalidations, without the groups of a response.
    let subject: CacheSubject
    /// The names of the entry in reports of changes on disk.
    let names: ChangedNames
    var stored: Stored?

    /// The lookup without the bytes of the stored body.
    var withoutBody: QueryLookup {
        var lookup = self
        lookup.stored = stored.map { Stored(response: $0.response.withoutBody, condition: $0.condition) }
        return lookup
    }
}

extension Pipeline {
    /// Reads the store for a query's request.
    func lookUp(_ request: Request) async throws(ConnectionError) -> QueryLookup {
        var request = request
        request.cache.mode = .automatic
        let context = try await resolver.context(of: request, for: Caller())
        let loaded = await lookup.load(for: context)
        defer { withExtendedLifetime(loaded) {} }
        let candidate = lookup.find(for: context)
        let subject = try subject(of: context)
        return QueryLookup(
            user: context.wire.identity, subject: subject, names: names(of: subject, stored: candidate),
            stored: candidate.map {
                QueryLookup.Stored(response: $0.response, condition: condition(of: $0, for: context))
            })
    }

    private func condition(of candidate: StoredCandidate, for context: RequestContext) -> QueryEntry.Condition {
        if candidate.response.flags.contains(.invalidated) { return .invalidated }
        if case .serve = lookup.decision(on: candidate.response, for: context.resolved) { return .fresh }
        return .stale
    }

    /// Returns the subject of invalidations, even for a request whose response is neither stored nor shared.
    private func subject(of context: RequestContext) throws(ConnectionError) -> CacheSubject {
        if let subject = context.subject { return subject }
        do throws(RequestError) {
            let rules = environment.rules
            return CacheSubject(
                key: try CanonicalForm(of: context.wire, rules: rules).key, url: context.wire.entryURL(rules),
                isFoundByOthers: context.wire.isFoundByOthers(rules), tags: context.resolved.tags,
                identity: context.wire.identity)
        } catch {
            throw ConnectionError(error)
        }
    }

    private func names(of subject: CacheSubject, stored candidate: StoredCandidate?) -> ChangedNames {
        var names = ChangedNames(keys: [subject.key.prefix])
        if let candidate { names.keys.insert(candidate.identity.key.prefix) }
        if let cache { names.urls = [cache.storage.coding.urlHash(of: subject.url)] }
        return names
    }
}
