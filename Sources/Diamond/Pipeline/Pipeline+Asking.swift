import Foundation
import HTTPTypes

/// Asking the server.
extension Pipeline {
    /// Asks together with all who ask the same at the same time, where others may.
    ///
    /// - Parameter landings: what ``Flights/landings(of:)`` was before the cache was asked; `nil` where it does not matter.
    /// - Returns: `nil` where the cache has to be asked again.
    func ask(_ question: Question, since landings: Int?) async throws(ConnectionError) -> Flight.Outcome? {
        let question = dated(question)
        let request = try await request(for: question)
        guard let key = question.flightKey(request, question.passage.retry ?? retry) else {
            return .success(try await alone(question, request))
        }
        guard let flight = flight(for: key, since: landings, question, request) else { return nil }
        return try await join(flight, for: key.key, question)
    }

    /// The one that is under way for what is asked, unless what it brings was invalidated since it began, or a new one.
    private func flight(
        for key: FlightKey,
        since landings: Int?,
        _ question: Question,
        _ request: TransportRequest
    ) -> Flight? {
        flights.flight(for: key, since: landings) {
            isRevoked(question.passage, since: $0.revocations)
        } make: { whenOver in
            let course: Flight.Course = { [self] (seat, hear) async throws(ConnectionError) in
                let (question, request) = try await current(question, request, seat)
                return try await fly(question, request, &seat, hear)
            }
            let (passage, count) = (question.passage, revocations)
            return Flight(
                at: passage.place, lanes, by: wire.repetitions.clock, since: passage.begin, revocations: count,
                in: passage.scope(in: activity), course: course, whenOver: whenOver)
        }
    }

    private func join(
        _ flight: Flight,
        for key: RequestKey,
        _ question: Question
    ) async throws(ConnectionError) -> Flight.Outcome? {
        let asker = question.passage.asker
        // Whose time has begun has used its claim, and waits here, where that can be watched.
        if let claim = asker.claim, let isAboard = claim.board(flight, for: key, asker.priority) {
            guard isAboard else { return nil }
            countMiss(question)
            throw .parked
        }
        asker.claim?.step(aside: true)
        defer { asker.claim?.step(aside: false) }
        let (priority, begin) = (asker.priority, question.passage.begin)
        guard let (rest, timeUp) = try wait(of: question.passage) else {
            return await flight.outcome(priority, since: begin) { countMiss(question) }
        }
        let (outcome, isLate) = await wire.repetitions.clock.limit(rest) { [self] in
            await flight.outcome(priority, since: begin) { countMiss(question) }
        }
        guard isLate, !Task.isCancelled, case .failure(let error)? = outcome, error.code == .cancelled
        else { return outcome }
        return .failure(timeUp)
    }

    /// - Returns: how long a flight is waited for that others may share, and what is told afterwards; `nil` where its own
    ///   end is soon enough.
    private func wait(of passage: Passage) throws(ConnectionError) -> (rest: Duration, timeUp: ConnectionError)? {
        guard let timeUp = passage.timeUp.value else {
            return try rest(of: passage).map { ($0, ConnectionError(outOfTime: true)) }
        }
        let rest = (timeUp.ownEnd ?? 0) - wire.repetitions.clock.uptime()
        return (.milliseconds(max(0, rest)), timeUp)
    }

    private func countMiss(_ question: Question) {
        let passage = question.passage
        guard let cache, question.isAwaited, passage.identity != nil, !passage.asksAlone, passage.ownEnd == nil,
            !passage.wasAsked
        else { return }
        activity.report(.miss)
        cache.countMiss()
    }

    /// Asks for nobody else, in the task of the one who asks, when there is a place on the wire.
    func alone(_ question: Question, _ request: TransportRequest) async throws(ConnectionError) -> Response {
        var seat = try await seat(for: question.passage)
        try question.passage.asker.sink?.open()
        countMiss(question)
        let (question, request) = try await current(question, request, seat)
        let (claim, sink) = (question.passage.asker.claim, question.passage.asker.sink)
        return try await fly(question, request, &seat) { event in
            claim?.hear(event)
            sink?.hear(event)
        }
    }

    private func seat(for passage: Passage) async throws(ConnectionError) -> Seat {
        let (place, asker) = (passage.place, passage.asker)
        let claim = asker.claim
        if let isThere = claim?.enter(place, asker.priority, lanes, in: passage.scope(in: activity)) {
            guard isThere else { throw .parked }
            return Seat(place, lanes) { asker.priority }
        }
        if lanes.enterAtOnce(place) { return Seat(place, lanes) { asker.priority } }
        claim?.step(aside: true)
        defer { claim?.step(aside: false) }
        try await enter(passage)
        return Seat(place, lanes, wasAwaited: true) { asker.priority }
    }

    /// Waits for a place, where a redirect has led here no longer than the time of the request.
    private func enter(_ passage: Passage) async throws(ConnectionError) {
        let enter = { @Sendable [lanes, activity, priority = passage.asker.priority] in
            await lanes.enter(passage.place, priority, in: passage.scope(in: activity))
        }
        var (isThere, isLate) = (false, false)
        if let rest = try rest(of: passage) {
            (isThere, isLate) = await wire.repetitions.clock.limit(rest, enter)
        } else {
            isThere = await enter()
        }
        guard !isThere else { return }
        throw isLate && !Task.isCancelled ? ConnectionError(outOfTime: true) : .cancelled
    }

    /// What is asked, with the secrets of now where its place was waited for: those of before may have ended meanwhile.
    private func current(
        _ question: Question,
        _ request: TransportRequest,
        _ seat: borrowing Seat
    ) async throws(ConnectionError) -> (Question, TransportRequest) {
        guard seat.wasAwaited, question.passage.hasNamedSecrets else { return (question, request) }
        let question = dated(question)
        return (question, try await self.request(for: question))
    }

    /// The question with the age of its credentials, known before they are filled in.
    func dated(_ question: Question) -> Question {
        guard let credentialRefreshes, question.passage.hasNamedSecrets else { return question }
        var question = question
        question.refreshes = credentialRefreshes.count
        question.isOfRefresh = CredentialRefreshes.isMaking(question.passage.wire)
        return question
    }

    func request(for question: Question) async throws(ConnectionError) -> TransportRequest {
        let passage = question.passage
        let left = try timeLeft(of: passage)
        let wire = passage.hasNamedSecrets ? try await environment.fill(passage.wire, within: left) : passage.wire
        return try passage.transportRequest(wire, validators: question.validators)
    }

    /// One question and what becomes of its answer. Where that leads to another, both have one time.
    private func fly(
        _ question: Question,
        _ request: TransportRequest,
        _ seat: inout Seat,
        _ hear: @escaping @Sendable (ExchangeEvent) -> Void
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

    private func fly(
        _ question: Question,
        _ request: TransportRequest,
        since begin: Int64?,
        _ seat: inout Seat,
        _ hear: @escaping @Sendable (ExchangeEvent) -> Void
    ) async throws(ConnectionError) -> Response {
        let asked = revocations
        // Erased while the question waited for its place, what was stored is not brought back by a confirmation.
        guard question.stored == nil || !isErased(question.passage, since: question.found) else {
            let question = dated(question.unanswered)
            return try await fly(question, try await self.request(for: question), &seat, hear)
        }
        var question = question
        // Marked stale while it waited, it is what was marked that is confirmed.
        if isRevoked(question.passage, since: question.found) { question.stored?.flags.insert(.invalidated) }
        let policy = try policy(of: question.passage)
        let keeper = PartialPlace(question, self).map { PartialKeeper($0) }
        let order = order(for: question, request, policy, hear, keeper)
        let arrival = try await arrival(of: question, order, &seat)
        guard !arrival.isPoured else { return await poured(arrival, question.passage) }
        guard let stored = question.validators, arrival.status == .notModified else {
            // Code of the app, which may send through this engine, and the disk need no place on the wire.
            seat.leave()
            return try await keep(arrival, question, since: asked, keeper)
        }
        guard stored.isConfirmed(by: arrival.headers) else {
            keeper?.end()
            question.passage.begin = begin
            return try await replace(question, isPersonal: arrival.isPersonal, &seat, hear)
        }
        let (confirmed, hasToGo) = confirm(stored, by: arrival, question.passage, since: asked)
        defer { if hasToGo, let key = question.passage.identity?.key { cache?.forget(key) } }
        // Whoever takes the body may take his time.
        seat.leave()
        return try await hand(
            confirmed, question.reader, from: .revalidated, question.passage, after: arrival.attempts)
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
            await invalidate(after: error, question.passage)
            throw error
        }
    }

    private func order(
        for question: Question,
        _ request: TransportRequest,
        _ policy: RetryPolicy,
        _ hear: @escaping @Sendable (ExchangeEvent) -> Void,
        _ keeper: PartialKeeper?
    ) -> ExchangeOrder {
        let passage = question.passage
        return ExchangeOrder(
            request: request,
            policy: policy,
            origin: passage.place.origin,
            renewal: renewal(of: question),
            scope: passage.scope(in: activity),
            hear: hear,
            bodyLimit: bodyLimit(of: passage),
            identity: passage.wire.identity,
            rules: environment.rules.adding(passage.wire),
            isForeign: passage.isForeign,
            isUnderWay: passage.begin != nil,
            isContinuable: passage.isContinuable && passage.asker.sink?.isContinuable ?? true,
            keeper: keeper,
            pouring: passage.asker.sink.map { Pouring(sink: $0, url: passage.url, origin: passage.place.origin) },
            gate: passage.asker.gate
        )
    }

    /// The bytes of a body that are taken.
    func bodyLimit(of passage: Passage) -> Int {
        guard let limit = passage.bodyLimit else { return wire.bodyLimit }
        return passage.isBehindSink ? min(limit, wire.bodyLimit) : limit
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
    /// - Parameter isPersonal: whether it was said to one alone, and what is stored may be right for others.
    private func replace(
        _ question: Question,
        isPersonal: Bool,
        _ seat: inout Seat,
        _ hear: @escaping @Sendable (ExchangeEvent) -> Void
    ) async throws(ConnectionError) -> Response {
        if !isPersonal, let key = question.passage.identity?.key { cache?.forget(key) }
        let question = dated(question.unconditional)
        return try await fly(question, try await self.request(for: question), &seat, hear)
    }
}
