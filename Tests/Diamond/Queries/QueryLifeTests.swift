import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The life of a query") struct QueryLifeTests {
    private typealias Life = QueryLife<Int>

    private static func lookup(
        user: String? = nil, stored: StoredResponse? = nil, _ condition: QueryEntry.Condition = .stale
    ) throws -> QueryLookup {
        let form = try CanonicalForm(of: WireRequest(Request("http://h/")), rules: KeyRules())
        let subject = CacheSubject(
            key: form.key, url: "http://h/", isFoundByOthers: false, tags: ["cities"], identity: user)
        return QueryLookup(
            user: user, subject: subject, names: ChangedNames(keys: [form.key.prefix], urls: [7]),
            stored: stored.map { QueryLookup.Stored(response: $0, condition: condition) })
    }

    private static func stored(_ body: String, at time: WallTime, duration: Int64 = 0) -> StoredResponse {
        StoredResponse(
            status: 200, headerBlock: Data(), body: Data(body.utf8), storedAt: time, initialAge: 0, lifetime: nil,
            flags: [], duration: duration)
    }

    private static func answer(
        _ value: Int, at time: WallTime, source: Response.Source = .network, isCollapsed: Bool = false
    ) -> Life.Answer {
        var response = Response(status: .ok, body: Data("\(value)".utf8), source: source)
        response.cacheStatus = CacheStatus()
        response.cacheStatus?.isStored = true
        response.cacheStatus?.isCollapsed = isCollapsed
        return Life.Answer(value: value, response: response, receivedAt: time, originTime: time)
    }

    /// A life whose first fetch has succeeded.
    private static func settled(user: String? = nil) throws -> Life {
        var life = Life()
        let step1 = life.nextStep(interval: nil, at: 0)
        #expect(step1 == .lookUp(.freshen))
        _ = life.plan(for: .freshen, mode: .automatic, lookup: try lookup(user: user))
        let hasWork2 = life.beginFetch()
        #expect(hasWork2)
        life.end(.success(answer(1, at: 100)), at: 0)
        let step3 = life.nextStep(interval: nil, at: 0)
        #expect(step3 == .wait(nil))
        return life
    }

    // MARK: Events

    @Test(arguments: [
        (QueryEvent.outdated, Optional(QueryNeed.ask)), (.maybeChanged, .compare), (.polled, nil),
        (.network(isReachable: true), nil), (.network(isReachable: false), nil), (.foreground, .freshen),
        (.forgotten, .freshen),
    ])
    func `an event causes a lookup of the entry by its kind`(event: QueryEvent, need: QueryNeed?) throws {
        var life = try Self.settled()
        let hasWork4 = life.note(event)
        #expect(hasWork4 == (need != nil))
        let step = life.nextStep(interval: nil, at: 0)
        #expect(step == need.map { .lookUp($0) } ?? .wait(nil))
        // The need is met once.
        let step5 = life.nextStep(interval: nil, at: 0)
        #expect(step5 == .wait(nil))
    }

    @Test func `the most urgent of several events counts`() throws {
        var life = try Self.settled()
        for event in [QueryEvent.foreground, .outdated, .maybeChanged] { _ = life.note(event) }
        let step6 = life.nextStep(interval: nil, at: 0)
        #expect(step6 == .lookUp(.ask))
    }

    @Test func `a reachable network causes a fetch if it was unreachable, or if the last fetch has failed`() throws {
        var life = try Self.settled()
        _ = life.note(.network(isReachable: false))
        let hasWork7 = life.note(.network(isReachable: true))
        #expect(hasWork7)
        let step8 = life.nextStep(interval: nil, at: 0)
        #expect(step8 == .lookUp(.freshen))
        life.end(.failure(.cancelled), at: 0)
        #expect(life.state.value == 1 && life.state.error?.code == .cancelled)
        let hasWork9 = life.note(.network(isReachable: true))
        #expect(hasWork9)
        // The error is not shown together with a fresh value.
        let step10 = life.nextStep(interval: nil, at: 0)
        #expect(step10 == .lookUp(.ask))
    }

    @Test func `a poll causes a lookup of the entry only without a value`() {
        var life = Life()
        _ = life.nextStep(interval: nil, at: 0)
        let hasWork11 = life.note(.polled)
        #expect(hasWork11)
        let step12 = life.nextStep(interval: nil, at: 0)
        #expect(step12 == .lookUp(.compare))
    }

    @Test func `an event before the first lookup causes a second lookup`() {
        var life = Life()
        _ = life.nextStep(interval: nil, at: 0)
        let hasWork13 = life.note(.outdated)
        #expect(hasWork13)
        let step14 = life.nextStep(interval: nil, at: 0)
        #expect(step14 == .lookUp(.freshen))
    }

    // MARK: Intervals

    @Test func `an interval counts from the end of the last fetch`() throws {
        var life = try Self.settled()
        let step15 = life.nextStep(interval: 30, at: 10)
        #expect(step15 == .wait(20))
        let step16 = life.nextStep(interval: 10, at: 10)
        #expect(step16 == .lookUp(.ask))
        life.end(.success(Self.answer(2, at: 200)), at: 50)
        let step17 = life.nextStep(interval: 10, at: 55)
        #expect(step17 == .wait(5))
        let step18 = life.nextStep(interval: .max, at: 55)
        #expect(step18 == .wait(.max - 55))
    }

    // MARK: Entries

    @Test func `an entry is compared with the shown value`() throws {
        func plan(_ stored: StoredResponse?, _ condition: QueryEntry.Condition = .stale) throws -> QueryPlan {
            var life = try Self.settled()
            return life.plan(for: .compare, mode: .automatic, lookup: try Self.lookup(stored: stored, condition))
        }
        #expect(try plan(Self.stored("1", at: 300)) == QueryPlan(for: .nothing, mode: .automatic, entry: nil))
        #expect(try plan(Self.stored("2", at: 300)).showsEntry)
        #expect(try plan(Self.stored("2", at: 300)).fetch == nil)
        // The request of this entry was sent before the shown value had arrived.
        #expect(try plan(Self.stored("2", at: 300, duration: 200)).fetch == .revalidate)
        #expect(try plan(Self.stored("2", at: 300, duration: 200)).showsEntry == false)
        #expect(try plan(Self.stored("1", at: 100), .invalidated).fetch == .revalidate)
        #expect(try plan(nil).fetch == .revalidate)
    }

    @Test func `an invalidated entry is fetched only once`() throws {
        var life = try Self.settled()
        let lookup = try Self.lookup(stored: Self.stored("1", at: 100), .invalidated)
        let first = life.plan(for: .compare, mode: .automatic, lookup: lookup)
        life.end(.failure(.cancelled), at: 0)
        let second = life.plan(for: .compare, mode: .automatic, lookup: lookup)
        #expect(first.fetch == .revalidate && second.fetch == nil)
    }

    @Test func `a shared response that may be older than the shown value does not replace it`() throws {
        var life = try Self.settled()
        life.show(Self.answer(2, at: 200, source: .cache), isLast: true, at: 0)
        life.end(.success(Self.answer(1, at: 300, isCollapsed: true)), at: 0)
        #expect(life.state.value == 2)
        let step19 = life.nextStep(interval: nil, at: 0)
        #expect(step19 == .lookUp(.ask))
        // The next exchange began after the shown value was fetched.
        life.end(.success(Self.answer(3, at: 400, isCollapsed: true)), at: 0)
        #expect(life.state.value == 3)
        let step20 = life.nextStep(interval: nil, at: 0)
        #expect(step20 == .wait(nil))
    }

    @Test func `a response that is served because the fetch has failed replaces no value`() throws {
        var life = try Self.settled()
        life.end(.success(Self.answer(0, at: 300, source: .stale)), at: 0)
        #expect(life.state.value == 1 && life.state.error == nil && !life.state.isFetching)
    }

    @Test(arguments: [Response.Source.stale, .cache])
    func `a response that is served in place of a failure replaces no value, and has the error`(
        source: Response.Source
    ) throws {
        var (known, unknown) = (try Self.settled(), Life())
        var answer = Self.answer(0, at: 300, source: source)
        answer.failure = ConnectionError(.cannotConnect, "no network")
        known.end(.success(answer), at: 0)
        #expect(known.state.value == 1 && known.state.error?.isOffline == true && !known.state.isFetching)
        unknown.end(.success(answer), at: 0)
        #expect(unknown.state.value == 0 && unknown.state.error?.isOffline == true && !unknown.state.isFetching)
        known.end(.success(Self.answer(2, at: 400)), at: 0)
        #expect(known.state.value == 2 && known.state.error == nil)
    }

    // MARK: Users

    @Test func `the value of a forgotten user is dropped, and so is a later response for that user`() throws {
        var life = try Self.settled(user: "anna")
        let epoch = life.epoch
        let hasWork21 = life.note(.forgotten)
        #expect(hasWork21)
        #expect(life.state.value == nil && life.state.response == nil && life.state.isFetching && life.epoch > epoch)
    }

    @Test func `the value of a user is dropped when another user is signed in`() throws {
        var life = try Self.settled(user: "anna")
        let plan = life.plan(for: .compare, mode: .automatic, lookup: try Self.lookup(user: "bob"))
        #expect(life.state.value == nil && plan.fetch == .automatic)
    }

    @Test func `a lookup that finds nothing to show or fetch makes the query ready`() throws {
        var life = Life()
        _ = life.nextStep(interval: nil, at: 0)
        _ = life.plan(for: .freshen, mode: .cacheOnly, lookup: try Self.lookup())
        #expect(!life.isReady)
        let hasChanged = life.endLookup(at: 0)
        #expect(hasChanged && life.isReady && !life.state.isFetching)
        let hasChangedAgain = life.endLookup(at: 0)
        #expect(!hasChangedAgain)
    }
}
