import Foundation
import HTTPTypes

/// The way of a request to its response: look up, decide, fly, store.
///
/// The one place that acts on a ``CacheDecision``.
struct Pipeline: Sendable {
    let transport: any Transport
    /// `nil` when there is none, or it could not be opened.
    let cache: Cache?
    let activity: Activity
    let lanes: Lanes
    let refreshes = Refreshes()
    let forgotten = Forgotten()
    /// Milliseconds since 1970.
    let now: @Sendable () -> Int64
    let environment: Environment
    let bodyLimit: Int
    let redirectLimit: Int

    func response(
        to request: Request,
        asker: Asker = Asker()
    ) async throws(ConnectionError) -> Response {
        var request = request
        // The environment has its say once, before the first hop: what a redirect to another origin takes away stays away.
        var passage = try await passage(of: request, asker)
        passage.asker = asker
        for _ in 0...redirectLimit {
            let response = try await answer(passage)
            let next = Redirect.next(
                after: passage.wire,
                rules: environment.rules,
                cache: request.cache,
                timeout: request.timeout,
                response: response
            )
            guard redirectLimit > 0, var next else { return response }
            (next.tags, next.lane) = (request.tags, request.lane)
            request = next
            passage = try Passage(next, rules: keyRules, at: forgotten.count)
            passage.asker = asker
        }
        throw ConnectionError(.badResponse, "\(request) was redirected more than \(redirectLimit) times")
    }

    /// Worked out once for a request and its copies, unless somebody has to be asked for whom it is, or a file for what it
    /// holds.
    private func passage(
        of request: Request,
        _ asker: Asker = Asker()
    ) async throws(ConnectionError) -> Passage {
        if var known = request.memory.value(by: environment.number, as: Passage.self) {
            known.epoch = forgotten.count
            return known
        }
        let epoch = forgotten.count
        asker.claim?.step(aside: environment.provider != nil)
        let resolved = try await environment.resolve(request)
        asker.claim?.step(aside: false)
        let passage = try Passage(resolved, rules: keyRules, at: epoch)
        let isKnown = environment.provider == nil || request.identity != nil
        if isKnown, request.body?.readsFiles != true {
            request.memory.keep(passage, by: environment.number)
        }
        return passage
    }

    /// `nil` where nothing is looked up.
    private var keyRules: KeyRules? { cache == nil ? nil : environment.rules }

    func key(of request: Request) async throws(ConnectionError) -> RequestKey {
        if let key = try await passage(of: request).identity?.key { return key }
        let request = try await environment.resolve(request)
        do { return try CanonicalForm(of: request, rules: environment.rules).key } catch {
            throw ConnectionError(error)
        }
    }

    private func answer(_ passage: Passage) async throws(ConnectionError) -> Response {
        guard let identity = passage.identity, let cache else {
            return try await load(passage)
        }
        let stored = cache.find(identity.key, request: identity.canonicalForm)
        let decision = CacheDecision(now: now(), stored: stored, policy: passage.policy)
        switch (decision, stored) {
        case (.serve(let source), let stored?):
            return serve(stored, from: source, passage)
        case (.serveStaleAndRefresh, let stored?):
            var refresh = passage
            refresh.asker = Asker(priority: passage.asker.priority)
            refreshes.add { [refresh] in
                _ = try? await onWire(refresh) { () async throws(ConnectionError) in
                    try await ask(refresh, stored: stored, conditionally: true)
                }
            }
            return serve(stored, from: .stale, passage)
        case (.ask(let conditionally, let elseStored), _):
            return try await onWire(passage) { () async throws(ConnectionError) in
                activity.report(.miss)
                cache.countMiss()
                return try await ask(passage, stored: stored, conditionally: conditionally, elseStored: elseStored)
            }
        default:
            return passage.nothingStored
        }
    }

    private func serve(_ stored: StoredResponse, from source: Response.Source, _ passage: Passage) -> Response {
        activity.report(.hit(source))
        if let key = passage.identity?.key { cache?.count(source, of: stored, under: key) }
        return stored.response(from: source, at: now(), url: passage.url, isHead: passage.wire.method == .head)
    }

    @discardableResult
    private func ask(
        _ passage: Passage,
        stored: StoredResponse?,
        conditionally: Bool,
        elseStored: Bool = false
    ) async throws(ConnectionError) -> Response {
        do throws(ConnectionError) {
            let arrival = try await fly(passage, validators: conditionally ? stored : nil)
            if conditionally, arrival.status == .notModified, let stored {
                guard stored.isConfirmed(by: arrival.headers) else { return try await replace(stored, passage) }
                return confirm(stored, by: arrival, passage)
            }
            if elseStored, let stored, arrival.status.code >= 500 { return serve(stored, from: .stale, passage) }
            return keep(arrival, passage, replacing: stored != nil)
        } catch {
            guard elseStored, let stored, error.code != .cancelled else { throw error }
            return serve(stored, from: .stale, passage)
        }
    }

    /// A 304 that speaks of another representation confirms nothing: the stored one goes, and is asked for anew, once and
    /// without conditions (RFC 9111 section 4.3.4).
    private func replace(_ stored: StoredResponse, _ passage: Passage) async throws(ConnectionError) -> Response {
        if let key = passage.identity?.key { cache?.forget(key) }
        return try await ask(passage, stored: stored, conditionally: false)
    }

    private func load(_ passage: Passage) async throws(ConnectionError) -> Response {
        guard passage.policy.mode != .cacheOnly else {
            return passage.nothingStored
        }
        return try await onWire(passage) { () async throws(ConnectionError) in
            let arrival = try await fly(passage, validators: nil)
            await invalidate(after: arrival, passage)
            return response(from: arrival, passage)
        }
    }

    /// Does what needs a place on the wire, when there is one.
    private func onWire(
        _ passage: Passage,
        _ body: () async throws(ConnectionError) -> Response
    ) async throws(ConnectionError) -> Response {
        let place = passage.place
        try await enter(place, passage.asker)
        defer { lanes.leave(place) }
        return try await body()
    }

    private func enter(_ place: FlightPlace, _ asker: Asker) async throws(ConnectionError) {
        if let claim = asker.claim, let isThere = claim.enter(place, asker.priority, lanes) {
            guard isThere else { throw .parked }
        } else {
            asker.claim?.step(aside: true)
            let isThere = await lanes.enter(place, asker.priority)
            asker.claim?.step(aside: false)
            guard isThere else { throw .cancelled }
        }
    }

    /// What an unsafe method has changed is stale (RFC 9111 section 4.4): its own URL, and those of the same origin that
    /// the answer names.
    private func invalidate(after arrival: Flight.Arrival, _ passage: Passage) async {
        guard let cache, !passage.wire.method.isSafe, (200..<400).contains(arrival.status.code) else { return }
        let named = [HTTPField.Name.location, .contentLocation].compactMap { arrival.headers[$0] }
        let urls = named.compactMap { Redirect.target(of: $0, from: passage.wire) }
            .filter { $0.origin == passage.wire.url.origin }
            .map { $0.text() }
        for url in Set([passage.wire.printableURL(environment.rules)] + urls) {
            do { try await cache.invalidate(.url(url)) } catch {
                activity.report(.cacheFailed(reason: error.message))
            }
        }
    }

    private func fly(
        _ passage: Passage,
        validators stored: StoredResponse?
    ) async throws(ConnectionError) -> Flight.Arrival {
        let flight = Flight(transport: transport, activity: activity, now: now, bodyLimit: bodyLimit)
        let request = try passage.transportRequest(try await environment.fill(passage.wire), validators: stored)
        do {
            return try await flight.fly(request)
        } catch {
            throw ConnectionError(error)
        }
    }

    // MARK: After the flight

    private func keep(_ arrival: Flight.Arrival, _ passage: Passage, replacing isReplacing: Bool) -> Response {
        let decision = StoreDecision(
            method: passage.wire.method,
            status: arrival.status.code,
            headers: arrival.headers,
            body: arrival.body,
            sentAt: arrival.sentAt,
            receivedAt: arrival.receivedAt,
            isSelecting: environment.rules.adding(passage.wire).isSelecting
        )
        if let stored = decision.stored, let entry = passage.entry(stored), !forgotten.has(passage) {
            cache?.store(entry, replacing: isReplacing)
            // Forgotten between the look and the store, it would outlive the logout.
            if forgotten.has(passage) { cache?.forget(entry.key) }
        }
        return response(from: arrival, passage)
    }

    private func confirm(_ stored: StoredResponse, by arrival: Flight.Arrival, _ passage: Passage) -> Response {
        let decision = StoreDecision(
            confirming: stored,
            by: arrival.headers,
            sentAt: arrival.sentAt,
            receivedAt: arrival.receivedAt
        )
        guard let confirmed = decision.stored, let entry = passage.entry(confirmed), !forgotten.has(passage) else {
            if let key = passage.identity?.key { cache?.forget(key) }
            return serve(stored, from: .revalidated, passage)
        }
        cache?.confirm(entry, replacing: stored)
        return serve(confirmed, from: .revalidated, passage)
    }

    private func response(from arrival: Flight.Arrival, _ passage: Passage) -> Response {
        Response(status: arrival.status, headers: arrival.headers, body: arrival.body, url: passage.url)
    }
}
