import Foundation
import HTTPTypes

/// Responses on their way to the cache and to the caller: transformed, validated, decoded.
extension Pipeline {
    /// Returns a response as the caller gets it: transformed first, so that what is validated and decoded is the same from a
    /// server and from the cache.
    func handled(_ response: Response, by caller: Caller) async throws(ConnectionError) -> Response {
        guard !wire.interceptors.isEmpty else { return try await caller.handler?.taken(response, by: []) ?? response }
        return try await caller.aside { () async throws(ConnectionError) in
            guard let handler = caller.handler else { return try await wire.interceptors.transform(response) }
            return try await handler.taken(response, by: wire.interceptors)
        }
    }

    /// Returns an error as the caller gets it.
    func transformed(_ error: ConnectionError, for caller: Caller) async -> ConnectionError {
        guard caller.run?.isOver != true, !wire.interceptors.isEmpty else { return error }
        return await caller.aside { await wire.interceptors.transform(error) }
    }

    func response(from arrival: ReceivedResponse, _ context: RequestContext) -> Response {
        var response = Response(
            status: arrival.status, headers: arrival.headers, body: arrival.body, url: context.url)
        response.attempts = arrival.attempts
        return response
    }

    // MARK: Before it is stored

    /// Returns the response of an exchange; stores it where it may be.
    ///
    /// - Parameter keeper: has written the body as it came.
    /// - Throws: why an interceptor refuses the response, for all callers; then it is not stored. Nor is it where the caller that
    ///   has started the exchange refuses it, which the others may take.
    func stored(
        _ arrival: ReceivedResponse,
        _ admitted: ExchangeRequest,
        _ keeper: ResumeWriter?
    ) async throws(ConnectionError) -> Response {
        let caller = admitted.plan.context.caller
        // Most responses are looked at by no code of the app, and came in one piece: they wait for nobody.
        guard wire.interceptors.isEmpty, caller.handler == nil, keeper?.hasBegun != true else {
            return try await storedAside(arrival, admitted, keeper)
        }
        return storedAtOnce(arrival, admitted, keeper)
    }

    // Not inlined, to keep the async frames of waiting callers small.
    @inline(never)
    private func storedAtOnce(_ arrival: ReceivedResponse, _ admitted: ExchangeRequest, _ keeper: ResumeWriter?)
        -> Response
    {
        let context = admitted.plan.context
        invalidateOwn(after: arrival, context)
        if store.isForCache(arrival, admitted.plan), let entry = store.entry(of: arrival, admitted) {
            keeper?.end()
            store.store(entry, admitted)
        }
        return response(from: arrival, context)
    }

    // Nor this: few need it.
    @inline(never)
    private func storedAside(
        _ arrival: ReceivedResponse,
        _ admitted: ExchangeRequest,
        _ keeper: ResumeWriter?
    ) async throws(ConnectionError) -> Response {
        let context = admitted.plan.context
        let response = response(from: arrival, context)
        invalidateOwn(after: arrival, context)
        // A redirect that is followed is not the answer.
        if !wire.interceptors.isEmpty, !isFollowed(response, from: context) {
            try await validate(response, for: context, keeper)
        }
        guard store.isForCache(arrival, admitted.plan) else { return response }
        guard await isOfUse(response, for: context), let entry = store.entry(of: arrival, admitted) else {
            await keeper?.discard()
            return response
        }
        let isWritten = await keeper?.finish(as: entry.stored) ?? false
        store.store(entry, admitted, isWritten: isWritten)
        return response
    }

    /// Invalidates what an unsafe request has changed.
    private func invalidateOwn(after arrival: ReceivedResponse, _ context: RequestContext) {
        if context.identity == nil, !context.wire.method.isSafe { store.invalidate(after: arrival, context) }
    }

    private func validate(
        _ response: Response,
        for context: RequestContext,
        _ keeper: ResumeWriter?
    ) async throws(ConnectionError) {
        do throws(ConnectionError) {
            // Others may wait for the response.
            try await context.caller.aside { () async throws(ConnectionError) in
                try await Hook.run(isInFlight: true) { () async throws(ConnectionError) in
                    try await wire.interceptors.validate(response)
                }
            }
        } catch {
            await keeper?.discard()
            throw error
        }
    }

    private func isFollowed(_ response: Response, from context: RequestContext) -> Bool {
        Redirect.isFollowed(response, from: context.wire, redirectLimit) && context.canFollow(response)
    }

    /// Returns why the caller refuses a response; looked at once per response. The body of a sink is looked at there. A caller
    /// that has left a shared exchange still decides whether the response is stored, without taking it.
    func refusal(of response: Response, for context: RequestContext) async -> ConnectionError? {
        var caller = context.caller
        guard caller.handler != nil, caller.sink == nil, !isFollowed(response, from: context) else { return nil }
        if caller.run?.isOver == true { caller = caller.inBackground }
        do throws(ConnectionError) { _ = try await handled(response, by: caller) } catch { return error }
        return nil
    }

    /// Whether a response may be stored. That a typed call takes its status for an error says nothing against it: the rules of
    /// HTTP decide.
    private func isOfUse(_ response: Response, for context: RequestContext) async -> Bool {
        guard context.caller.handler != nil else { return true }
        let refusal =
            wire.interceptors.isEmpty
            ? await self.refusal(of: response, for: context)
            : await Hook.run(isInFlight: true) { await self.refusal(of: response, for: context) }
        return refusal == nil || refusal?.code == .badStatus
    }
}
