import Foundation
import HTTPTypes

/// One question on the wire, and what becomes of its answer.
extension Pipeline {
    /// One question and what becomes of its answer. Where that leads to another, both have one time.
    func fly(
        _ question: Question,
        _ request: TransportRequest,
        _ seat: inout Seat,
        _ hear: @escaping Flight.Hear
    ) async throws(ConnectionError) -> Response {
        let begin = begin(of: question.passage)
        do throws(ConnectionError) {
            var response = try await fly(question, request, since: begin, &seat, hear)
            if begin != nil, isFollowed(response, question.passage) { response.ownBegin = begin }
            return response
        } catch {
            guard error.code == .unread else { throw error }
            var error = error
            error.ownBegin = begin
            throw error
        }
    }

    /// The same for a question whose request is made anew: it takes the place of another, or has other secrets by now.
    // Not inlined: what few flights need would lie in the frames of all.
    @inline(never)
    func flyAnew(
        _ question: Question,
        _ seat: inout Seat,
        _ hear: @escaping Flight.Hear
    ) async throws(ConnectionError) -> Response {
        try await fly(question, try await request(for: question), &seat, hear)
    }

    private func fly(
        _ question: Question,
        _ request: TransportRequest,
        since begin: Int64?,
        _ seat: inout Seat,
        _ hear: @escaping Flight.Hear
    ) async throws(ConnectionError) -> Response {
        let asked = revocations
        // Erased while the question waited for its place, what was stored is not brought back by a confirmation.
        guard question.stored == nil || !isErased(question.passage, since: question.found) else {
            return try await flyAnew(dated(question.unanswered), &seat, hear)
        }
        // Marked stale while it waited, it is what was marked that is confirmed.
        let question = isRevoked(question.passage, since: question.found) ? question.outdated : question
        let keeper = PartialPlace(question, self).map { PartialKeeper($0) }
        let order = try order(for: question, request, hear, keeper)
        let arrival = try await arrival(of: question, order, &seat)
        freshen(by: arrival, question, since: asked)
        guard !arrival.isPoured else { return poured(arrival, question.passage) }
        guard question.isConditional, let stored = question.stored, arrival.status == .notModified else {
            // Code of the app, which may send through this engine, and the disk need no place on the wire.
            seat.leave()
            return try await keep(arrival, question, since: asked, keeper)
        }
        return try await confirmed(stored, of: question, by: arrival, since: asked, begin, keeper, &seat, hear)
    }

    /// What a 304 makes of what is stored.
    // Not inlined, as with what is flown anew.
    @inline(never)
    private func confirmed(
        _ stored: StoredAnswer,
        of question: Question,
        by arrival: Arrival,
        since asked: Int,
        _ begin: Int64?,
        _ keeper: PartialKeeper?,
        _ seat: inout Seat,
        _ hear: @escaping Flight.Hear
    ) async throws(ConnectionError) -> Response {
        guard stored.response.isConfirmed(by: arrival.headers) else {
            keeper?.end()
            return try await replace(question, since: begin, isPersonal: arrival.isPersonal, &seat, hear)
        }
        let (confirmed, hasToGo) = confirm(stored.response, by: arrival, question.passage, since: asked)
        defer { if hasToGo, let key = question.passage.identity?.key { cache?.forget(key) } }
        // Whoever takes the body may take his time.
        seat.leave()
        return try await hand(
            StoredAnswer(confirmed, stored.reader), from: .revalidated, question.passage, after: arrival.attempts)
    }

    private func arrival(
        of question: Question,
        _ order: ExchangeOrder,
        _ seat: inout Seat
    ) async throws(ConnectionError) -> Arrival {
        var exchange = Exchange(order, over: wire)
        do throws(ConnectionError) {
            return try await exchange.arrival(&seat)
        } catch {
            invalidate(after: error, question.passage)
            throw error
        }
    }

    private func order(
        for question: Question,
        _ request: TransportRequest,
        _ hear: @escaping Flight.Hear,
        _ keeper: PartialKeeper?
    ) throws(ConnectionError) -> ExchangeOrder {
        let passage = question.passage
        return ExchangeOrder(
            request: request,
            policy: try policy(of: passage),
            origin: passage.place.origin,
            renewal: renewal(of: question),
            scope: passage.scope(in: activity),
            hear: hear,
            bodyLimit: bodyLimit(of: passage),
            identity: passage.wire.identity,
            rules: environment.rules.adding(passage.wire),
            isForeign: passage.marks.contains(.foreign),
            isContinuable: passage.isContinuable && passage.asker.sink?.isContinuable ?? true,
            keeper: keeper,
            pouring: passage.asker.sink.map { Pouring(sink: $0, url: passage.url, origin: passage.place.origin) },
            upload: passage.asker.upload,
            gate: passage.asker.gate,
            mayBegin: mayBegin(passage)
        )
    }

    /// For a connection alone, and a method that is not safe: a pause ends the others at once, or leaves them to those who
    /// share them. What a redirect has led to is not given up, because a run begins anew with what has led to it.
    private func mayBegin(_ passage: Passage) -> (@Sendable () -> Bool)? {
        guard let claim = passage.asker.claim, !passage.wire.method.isSafe, !passage.marks.contains(.redirected) else {
            return nil
        }
        return { claim.begins() }
    }

    /// The bytes of a body that are taken.
    func bodyLimit(of passage: Passage) -> Int {
        guard let limit = passage.bodyLimit else { return wire.bodyLimit }
        return passage.marks.contains(.behindSink) ? min(limit, wire.bodyLimit) : limit
    }

    /// `nil` where the request has no secret that could be made anew.
    private func renewal(of question: Question) -> ExchangeOrder.Renewal? {
        guard let credentialRefreshes, question.passage.hasNamedSecrets, !question.isOfRefresh else { return nil }
        let (wire, instant) = (question.passage.wire, question.refreshes)
        return ExchangeOrder.Renewal {
            credentialRefreshes.allows(wire, since: instant)
        } request: { [self] () async throws(ConnectionError) in
            try await credentialRefreshes.refresh(wire, since: instant)
            return try await request(for: question)
        }
    }

    /// A 304 that speaks of another representation confirms nothing: the stored one goes, and is asked for anew, once and
    /// without conditions (RFC 9111 section 4.3.4).
    ///
    /// - Parameters:
    ///   - begin: of the time that both have.
    ///   - isPersonal: whether it was said to one alone, and what is stored may be right for others.
    private func replace(
        _ question: Question,
        since begin: Int64?,
        isPersonal: Bool,
        _ seat: inout Seat,
        _ hear: @escaping Flight.Hear
    ) async throws(ConnectionError) -> Response {
        if !isPersonal, let key = question.passage.identity?.key { cache?.forget(key) }
        return try await flyAnew(dated(question.unconditional(since: begin)), &seat, hear)
    }
}
