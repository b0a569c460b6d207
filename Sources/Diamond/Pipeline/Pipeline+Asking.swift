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
        // Whose time is up opens no flight, which nobody would board.
        let wait = try wait(of: question.passage)
        switch way(to: question, request, since: landings) {
        case .own: return .success(try await alone(question, request))
        case .gone: return nil
        case .shared(let flight): return try await join(flight, question, wait)
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

    /// Where others may share it the flight that is under way, unless what it brings was invalidated since it began, or a new
    /// one.
    private func way(to question: Question, _ request: TransportRequest, since landings: Int?) -> Way {
        guard let key = question.flightKey(request, question.passage.retry ?? retry) else { return .own }
        let flight = flights.flight(for: key, since: landings) {
            isRevoked(question.passage, since: $0.revocations)
        } make: { whenOver in
            let course: Flight.Course = { [self] (seat, hear) async throws(ConnectionError) in
                guard isOutOfDate(question, seat) else { return try await fly(question, request, &seat, hear) }
                return try await flyAnew(dated(question), &seat, hear)
            }
            let (passage, count) = (question.passage, revocations)
            let policy = passage.retry ?? retry
            return Flight(
                at: passage.place, lanes, by: wire.repetitions.clock, since: passage.begin,
                isTimed: policy.deadline != nil || policy.attemptTimeout != nil, revocations: count,
                in: passage.scope(in: activity), course: course, whenOver: whenOver)
        }
        return flight.map(Way.shared) ?? .gone
    }

    /// - Parameter wait: how long it may last, and what is thrown then; `nil` forever.
    private func join(
        _ flight: Flight,
        _ question: Question,
        _ wait: (rest: Duration, timeUp: ConnectionError)?
    ) async throws(ConnectionError) -> Flight.Outcome? {
        let asker = question.passage.asker
        // Whose time has begun has used its claim, and waits here, where that can be watched.
        if let claim = asker.claim, let key = question.passage.identity?.key,
            let isAboard = claim.board(flight, for: key, asker.priority)
        {
            guard isAboard else { return nil }
            countMiss(question)
            throw .parked
        }
        // The flight waits for one.
        asker.claim?.giveBackPlace(lanes)
        asker.claim?.step(aside: true)
        defer { asker.claim?.step(aside: false) }
        guard let (rest, timeUp) = wait else {
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
        let (passage, asker) = (question.passage, question.passage.asker)
        let priority = asker.priority
        defer { asker.claim?.wait(under: nil) }
        return await flight.outcome(priority, since: passage.begin) {
            countMiss(question)
            asker.claim?.wait(aboard: flight, since: priority)
        }
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
        let asker = question.passage.asker
        try asker.sink?.open()
        countMiss(question)
        let hear: Flight.Hear = { event in asker.hear(event) }
        guard isOutOfDate(question, seat) else { return try await fly(question, request, &seat, hear) }
        return try await flyAnew(dated(question), &seat, hear)
    }

    private func seat(for passage: Passage) async throws(ConnectionError) -> Seat {
        let (place, asker) = (passage.place, passage.asker)
        let claim = asker.claim
        if let isThere = claim?.enter(place, asker.priority, lanes, in: passage.scope(in: activity)) {
            guard isThere else { throw .parked }
            return Seat(place, lanes, for: asker)
        }
        if lanes.enterAtOnce(place) { return Seat(place, lanes, for: asker) }
        claim?.step(aside: true)
        defer { claim?.step(aside: false) }
        try await enter(passage)
        return Seat(place, lanes, wasAwaited: true, for: asker)
    }

    /// Waits for a place, where a redirect has led here no longer than the time of the request.
    private func enter(_ passage: Passage) async throws(ConnectionError) {
        let enter = { @Sendable [lanes, activity] in
            await lanes.enter(passage.place, for: passage.asker, in: passage.scope(in: activity))
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
            credentialRefreshes.count, isOfRefresh: credentialRefreshes.isMaking(question.passage.wire))
    }

    func request(for question: Question) async throws(ConnectionError) -> TransportRequest {
        let passage = question.passage
        guard !passage.hasNamedSecrets else { return try await filledRequest(for: question) }
        _ = try rest(of: passage)
        return try passage.transportRequest(passage.wire, validators: question.validators)
    }

    // Not inlined: what few need would lie in the frames of all.
    @inline(never)
    private func filledRequest(for question: Question) async throws(ConnectionError) -> TransportRequest {
        let passage = question.passage
        let wire = try await environment.fill(passage.wire, within: timeLeft(of: passage))
        return try passage.transportRequest(wire, validators: question.validators)
    }
}
