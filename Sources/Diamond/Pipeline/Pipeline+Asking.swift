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
        switch flight(for: question, request, since: landings) {
        case .own: return .success(try await alone(question, request))
        case .gone: return nil
        case .shared(let flight): return try await join(flight, question)
        }
    }

    /// How an answer is come by.
    private enum Way {
        /// By an exchange of one's own.
        case own
        case shared(Flight)
        /// Another flight has landed meanwhile.
        case gone
    }

    /// The one that is under way for what is asked, unless what it brings was invalidated since it began, or a new one.
    private func flight(for question: Question, _ request: TransportRequest, since landings: Int?) -> Way {
        guard let key = question.flightKey(request, question.passage.retry ?? retry) else { return .own }
        let flight = flights.flight(for: key, since: landings) {
            isRevoked(question.passage, since: $0.revocations)
        } make: { whenOver in
            let course: Flight.Course = { [self] (seat, hear) async throws(ConnectionError) in
                guard isOutOfDate(question, seat) else { return try await fly(question, request, &seat, hear) }
                return try await flyAnew(dated(question), &seat, hear)
            }
            let (passage, count) = (question.passage, revocations)
            return Flight(
                at: passage.place, lanes, by: wire.repetitions.clock, since: passage.begin, revocations: count,
                in: passage.scope(in: activity), course: course, whenOver: whenOver)
        }
        return flight.map(Way.shared) ?? .gone
    }

    private func join(_ flight: Flight, _ question: Question) async throws(ConnectionError) -> Flight.Outcome? {
        let asker = question.passage.asker
        // Whose time has begun has used its claim, and waits here, where that can be watched.
        if let claim = asker.claim, let key = question.passage.identity?.key,
            let isAboard = claim.board(flight, for: key, asker.priority)
        {
            guard isAboard else { return nil }
            countMiss(question)
            throw .parked
        }
        asker.claim?.step(aside: true)
        defer { asker.claim?.step(aside: false) }
        guard let (rest, timeUp) = try wait(of: question.passage) else {
            return await self.outcome(of: flight, question)
        }
        let (outcome, isLate) = await wire.repetitions.clock.limit(rest) { [self] in
            await self.outcome(of: flight, question)
        }
        guard isLate, !Task.isCancelled, case .failure(let error)? = outcome, error.code == .cancelled
        else { return outcome }
        return .failure(timeUp)
    }

    private func outcome(of flight: Flight, _ question: Question) async -> Flight.Outcome? {
        let passage = question.passage
        return await flight.outcome(passage.asker.priority, since: passage.begin) { countMiss(question) }
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
        guard let cache, question.isAwaited, passage.identity != nil, passage.ownEnd == nil,
            passage.marks.isDisjoint(with: [.asksAlone, .wasAsked])
        else { return }
        activity.report(.miss)
        cache.countMiss()
    }

    /// Asks for nobody else, in the task of the one who asks, when there is a place on the wire.
    func alone(_ question: Question, _ request: TransportRequest) async throws(ConnectionError) -> Response {
        var seat = try await seat(for: question.passage)
        let (claim, sink) = (question.passage.asker.claim, question.passage.asker.sink)
        try sink?.open()
        countMiss(question)
        let hear: Flight.Hear = { event in
            claim?.hear(event)
            sink?.hear(event)
        }
        guard isOutOfDate(question, seat) else { return try await fly(question, request, &seat, hear) }
        return try await flyAnew(dated(question), &seat, hear)
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

    /// Whether its secrets are those of before its place was waited for: they may have ended meanwhile.
    private func isOutOfDate(_ question: Question, _ seat: borrowing Seat) -> Bool {
        seat.wasAwaited && question.passage.hasNamedSecrets
    }

    /// The question with the age of its credentials, known before they are filled in.
    func dated(_ question: Question) -> Question {
        guard let credentialRefreshes, question.passage.hasNamedSecrets else { return question }
        return question.dated(
            credentialRefreshes.count, isOfRefresh: CredentialRefreshes.isMaking(question.passage.wire))
    }

    func request(for question: Question) async throws(ConnectionError) -> TransportRequest {
        let passage = question.passage
        let left = try timeLeft(of: passage)
        guard passage.hasNamedSecrets else {
            return try passage.transportRequest(passage.wire, validators: question.validators)
        }
        let wire = try await environment.fill(passage.wire, within: left)
        return try passage.transportRequest(wire, validators: question.validators)
    }

    /// One question and what becomes of its answer. Where that leads to another, both have one time.
    private func fly(
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

    /// The same for a question that takes the place of another.
    // Not inlined: what few flights need would lie in the frames of all.
    @inline(never)
    private func flyAnew(
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
        guard !arrival.isPoured else { return await poured(arrival, question.passage) }
        guard question.isConditional, question.stored != nil, arrival.status == .notModified else {
            // Code of the app, which may send through this engine, and the disk need no place on the wire.
            seat.leave()
            return try await keep(arrival, question, since: asked, keeper)
        }
        return try await confirmed(question, by: arrival, since: asked, begin, keeper, &seat, hear)
    }

    /// What a 304 makes of what is stored.
    @inline(never)
    private func confirmed(
        _ question: Question,
        by arrival: Arrival,
        since asked: Int,
        _ begin: Int64?,
        _ keeper: PartialKeeper?,
        _ seat: inout Seat,
        _ hear: @escaping Flight.Hear
    ) async throws(ConnectionError) -> Response {
        guard let stored = question.stored, stored.isConfirmed(by: arrival.headers) else {
            keeper?.end()
            return try await replace(question, since: begin, isPersonal: arrival.isPersonal, &seat, hear)
        }
        let (confirmed, hasToGo) = confirm(stored, by: arrival, question.passage, since: asked)
        defer { if hasToGo, let key = question.passage.identity?.key { cache?.forget(key) } }
        // Whoever takes the body may take his time.
        seat.leave()
        let answer = Question(passage: question.passage, stored: confirmed, reader: question.reader)
        return try await hand(answer, from: .revalidated, after: arrival.attempts)
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
