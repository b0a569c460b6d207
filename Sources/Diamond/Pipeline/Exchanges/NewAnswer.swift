import HTTPTypes

/// A new response of an engine without a cache.
struct NewAnswer: Sendable {
    /// The key of its request.
    let key: RequestKey
    /// The response before interceptors transform it.
    let response: Response
    /// The response as a cache would store it.
    let stored: StoredResponse
}

extension Pipeline {
    /// Reports a success to the observed queries of an engine without a cache. With a cache, they find it there.
    func announce(_ response: Response, _ received: ReceivedResponse, to context: RequestContext) {
        guard response.facts.exchange != nil, let key = context.identity?.key, !received.isPersonal,
            context.wire.method == .get || context.wire.method == .query,
            received.status.kind == .successful, received.status != .partialContent
        else { return }
        let headers = received.headers
        let freshness = Freshness(
            headers: headers, CacheControl(headers), status: received.status.code, sentAt: received.sentAt,
            receivedAt: received.receivedAt)
        let stored = StoredResponse(
            status: received.status.code, headerBlock: HeaderBlock.bytes(of: headers), body: received.body,
            storedAt: received.receivedAt, initialAge: freshness.initialAge, lifetime: freshness.lifetime, flags: [],
            duration: max(0, received.receivedAt.milliseconds(since: received.sentAt)))
        newAnswers.send(NewAnswer(key: key, response: response, stored: stored))
    }
}
