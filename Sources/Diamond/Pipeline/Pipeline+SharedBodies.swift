import Foundation
import HTTPTypes

/// The exchanges of a gateway whose bodies are passed to several callers.
extension Pipeline {
    /// Exchanges a request together with other callers, and passes the body to the caller's sink.
    ///
    /// - Returns: the outcome; ``ExchangeOutcome/Ending/dismissed`` if the response is not for the caller.
    @inline(never)
    func streamedOutcome(
        of plan: ExchangePlan,
        for key: SharedStreamKey,
        into sink: any BodySink,
        progress: HopProgress
    ) async -> ExchangeOutcome {
        let joinedAt = plan.timeStart ?? time.clock.uptime()
        return await streamedOutcome(of: plan, for: key, to: SharedBodyReader(sink), progress: progress)
            .joined(at: joinedAt, by: plan)
    }

    private func streamedOutcome(
        of plan: ExchangePlan,
        for key: SharedStreamKey,
        to reader: SharedBodyReader,
        progress: HopProgress
    ) async -> ExchangeOutcome {
        defer { reader.leave() }
        // Canceled at the end of this function, if it is not awaited: the caller then leaves the exchange.
        async let outcome = sharing.outcome(
            for: key, plan: plan, reader: reader, whenJoined: { [self] in countMiss(of: plan, progress: progress) }
        ) { [self] flight in
            await streamedExchange(plan, for: flight)
        }
        guard let body = await reader.body else {
            let outcome = await outcome
            // A caller that joined as the exchange ended has missed the body, and the response is that of another.
            if case .response = outcome.ending, outcome.plan !== plan { return ExchangeOutcome(.dismissed) }
            return outcome
        }
        guard let head = head(of: body, for: plan) else {
            // A caller that cannot read the coding does not keep others from sharing.
            if isForFew(body) { sharing.unshared.insert(key.key) }
            return ExchangeOutcome(.dismissed)
        }
        do throws(ConnectionError) {
            // After a failure, the outcome is the failure of the exchange.
            _ = try await reader.pass(body, head: head)
            return await outcome
        } catch {
            return ExchangeOutcome(error)
        }
    }

    /// Returns the head of a response for a caller; `nil` if the caller may not have the response. The callers that
    /// have not sent the request get the fields that are stored.
    private func head(of body: SharedBody, for plan: ExchangePlan) -> Response? {
        guard body.plan !== plan, var response = body.response else { return body.response }
        guard let head = body.head, head.isForAll,
            let stored = store.stored(head.received, to: body.plan.context, for: plan.context)
        else { return nil }
        response.headers = stored.headers
        response.cacheStatus?.isCollapsed = true
        return response
    }

    /// Whether the next response is probably of no use to most callers, either: it is for one alone, or varies.
    private func isForFew(_ body: SharedBody) -> Bool {
        guard let head = body.head, head.isForAll else { return true }
        return head.received.headers.contains(.vary)
    }

    /// Exchanges a request, and passes the body to all callers that have joined.
    private func streamedExchange(
        _ plan: ExchangePlan,
        for flight: ExchangeSharing.Streams.Flight
    ) async -> ExchangeOutcome {
        let body = SharedBody(for: plan) { flight.report($0) }
        defer { body.end() }
        let shared = plan.with(plan.context.with(sink: body), plan.revalidation)
        let outcome = await sharedExchange(shared, for: flight) { event in
            if case .personal = event { flight.dismissOthers() }
        }
        return ExchangeOutcome(
            outcome.ending, startedAt: outcome.startedAt, lateness: outcome.lateness,
            plan: outcome.plan.map { _ in plan })
    }
}
