import Foundation
import HTTPTypes

/// The processing of a response for the cache and for the caller: transformed, validated, decoded.
extension Pipeline {
    /// Returns a response as the caller gets it. It is transformed first, so that a response from a server and one from
    /// the cache are validated and decoded alike.
    func handled(_ response: Response, by caller: Caller) async throws(ConnectionError) -> Response {
        var response = response
        response.facts.decoder = exchangeEnvironment.decoder
        guard !exchangeEnvironment.interceptors.isEmpty else {
            return try await caller.handler?.handle(response, with: []) ?? response
        }
        return try await caller.whileWaiting { [response] () async throws(ConnectionError) in
            guard let handler = caller.handler else {
                return try await exchangeEnvironment.interceptors.transform(response)
            }
            return try await handler.handle(response, with: exchangeEnvironment.interceptors)
        }
    }

    /// Returns an error as the caller gets it.
    func transformed(_ error: ConnectionError, for caller: Caller) async -> ConnectionError {
        guard caller.run?.isOver != true, !exchangeEnvironment.interceptors.isEmpty else { return error }
        return await caller.whileWaiting { await exchangeEnvironment.interceptors.transform(error) }
    }

    func response(from received: ReceivedResponse, to context: RequestContext) -> Response {
        var response = Response(
            status: received.status, headers: received.headers, body: received.body, url: context.url)
        response.attempts = received.attempts
        response.metrics = received.metrics.value
        response.facts.secrets = received.secrets
        response.facts.decoder = exchangeEnvironment.decoder
        // The first request has asked only for the rest of a stored beginning.
        if cache != nil, received.attempts.isEmpty, let status = received.partStatus {
            var cacheStatus = CacheStatus()
            cacheStatus.forwardStatus = status
            response.cacheStatus = cacheStatus
        }
        if cache == nil, newAnswers.hasListeners { response.facts.exchange = ExchangeMark() }
        return response
    }

    // MARK: Storing

    /// Returns the response of an exchange, and stores it if that is allowed.
    ///
    /// If the caller that has started the exchange refuses the response, it is not stored. Other callers may still
    /// accept it.
    ///
    /// - Throws: the error of an interceptor that refuses the response, for all callers; then it is not stored.
    func stored(_ received: ReceivedResponse, to exchange: Exchange) async throws(ConnectionError) -> Response {
        // Most responses invalidate nothing, are processed by no code of the app, and were received in one piece:
        // storing them needs no wait.
        let needsNoWait =
            exchange.context.wire.method.isSafe && exchangeEnvironment.interceptors.isEmpty
            && exchange.context.caller.handler == nil && exchange.bodyRecorder?.hasBegun != true
            && received.status != .partialContent
        return needsNoWait
            ? storedAtOnce(received, to: exchange) : try await storedWithWaits(received, to: exchange)
    }

    @inline(never)
    private func storedWithWaits(
        _ received: ReceivedResponse,
        to exchange: Exchange
    ) async throws(ConnectionError) -> Response {
        // Before its own invalidations, which are not about it.
        let entry = store.entryForGet(of: received, admitted: exchange)
        await store.invalidate(after: received, to: exchange.context)
        let response = try await validatedAndStored(received, to: exchange)
        // The response to a POST is stored for later GETs after the URL's stored responses were invalidated.
        guard let entry, await mayStore(response, for: exchange.context) else { return response }
        store.add(entry)
        return response.storing(entry.entry.stored, for: exchange.context)
    }

    @inline(never)
    private func storedAtOnce(_ received: ReceivedResponse, to exchange: Exchange) -> Response {
        let context = exchange.context
        if store.isForCache(received, to: exchange.plan), let entry = store.entry(of: received, to: exchange) {
            exchange.bodyRecorder?.end()
            store.add(entry, admitted: exchange)
            return response(from: received, to: context).storing(entry.stored, for: context)
        }
        let response = response(from: received, to: context)
        announce(response, received, to: context)
        return response
    }

    private func validatedAndStored(
        _ received: ReceivedResponse,
        to exchange: Exchange
    ) async throws(ConnectionError) -> Response {
        let context = exchange.context
        let recorder = exchange.bodyRecorder
        let response = response(from: received, to: context)
        // Interceptors do not validate redirects that are followed.
        if !exchangeEnvironment.interceptors.isEmpty, !isFollowed(response, from: context) {
            try await validate(response, for: context, recorder: recorder)
        }
        guard store.isForCache(received, to: exchange.plan) else {
            if response.facts.exchange != nil, await mayStore(response, for: context) {
                announce(response, received, to: context)
            }
            return response
        }
        let mayStore = await mayStore(response, for: context)
        if mayStore, received.status == .partialContent { await store.storePart(received, admitted: exchange) }
        guard mayStore, let entry = store.entry(of: received, to: exchange) else {
            await recorder?.discard()
            return response
        }
        let isWritten = await recorder?.finish(as: entry) ?? false
        store.add(entry, admitted: exchange, isWritten: isWritten)
        return response.storing(entry.stored, for: context)
    }

    private func validate(
        _ response: Response,
        for context: RequestContext,
        recorder: BodyRecorder?
    ) async throws(ConnectionError) {
        do throws(ConnectionError) {
            // Others may wait for the response.
            try await context.caller.whileWaiting { () async throws(ConnectionError) in
                try await Hook.run(isInFlight: true) { () async throws(ConnectionError) in
                    try await exchangeEnvironment.interceptors.validate(response)
                }
            }
        } catch {
            await recorder?.discard()
            throw error
        }
    }

    private func isFollowed(_ response: Response, from context: RequestContext) -> Bool {
        Redirect.isFollowed(response, from: context.wire, limit: redirectLimit) && context.canFollow(response)
    }

    /// Returns the error with which the caller refuses a response; `nil` if it accepts it. A response whose body goes
    /// into a sink is not checked. A caller that has left a shared exchange still decides whether the response is
    /// stored, without side effects.
    func refusal(of response: Response, for context: RequestContext) async -> ConnectionError? {
        var caller = context.caller
        guard caller.handler != nil, caller.sink == nil, !isFollowed(response, from: context) else { return nil }
        if caller.run?.isOver == true { caller = caller.inBackground }
        do throws(ConnectionError) { _ = try await handled(response, by: caller) } catch { return error }
        return nil
    }

    /// Whether the caller accepts a response, so that it may be stored. An error status that a typed call refuses may
    /// be stored: the rules of HTTP decide that.
    private func mayStore(_ response: Response, for context: RequestContext) async -> Bool {
        guard context.caller.handler != nil else { return true }
        let refusal =
            exchangeEnvironment.interceptors.isEmpty
            ? await self.refusal(of: response, for: context)
            : await Hook.run(isInFlight: true) { await self.refusal(of: response, for: context) }
        return refusal == nil || refusal?.code == .badStatus
    }
}

extension Response {
    /// The response, whose status says that it was stored. It is consumed, so that its only owner changes it in place.
    fileprivate consuming func storing(_ stored: StoredResponse, for context: RequestContext) -> Response {
        cacheStatus = CacheStatus(
            storing: stored, maxAge: context.policy.maxAge?.milliseconds, forwardStatus: cacheStatus?.forwardStatus)
        return self
    }
}
