import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Requests that are queued only when they fail", .limit(minutes: 5)) struct OnFailureReplayTests {
    let fixture = ReplayFixture()

    @Test func `a request that fails is queued, with the key of its first attempt`() async throws {
        fixture.serve(ReplayFixture.lost)
        let engine = fixture.engine()
        #expect(try engine.queue().jobs().isEmpty)
        let error = try await fixture.queued(fixture.note(.onFailure), by: engine)
        let id = try #require(error.jobID)
        let job = try #require(try engine.queue().job(id))
        #expect(job.state == .waiting && job.unknownSince != nil && job.attempts == 1)
        #expect(try engine.queue().failures(of: job.id).map(\.code) == ["connectionLost"])
        fixture.serve { _ in .stub(status: 201) }
        fixture.clock.advance(by: .seconds(60))
        #expect(try await engine.replayer().replay().finished == 1)
        #expect(fixture.keys.count == 2 && fixture.keys[0] != nil && fixture.keys[0] == fixture.keys[1])
    }

    @Test(arguments: [(200, false), (404, false), (422, false), (503, true), (429, true), (500, true)])
    func `a request is queued after a status that another attempt may change`(_ status: Int, _ isKept: Bool)
        async throws
    {
        fixture.serve { _ in .stub(status: status) }
        let engine = fixture.engine()
        let response = try? await engine.send(fixture.note(.onFailure))
        #expect((response == nil) == isKept)
        #expect(try engine.queue().jobs().count == (isKept ? 1 : 0))
    }

    @Test func `a request that may have been processed, and has no key, needs review`() async throws {
        fixture.serve(ReplayFixture.lost)
        let engine = fixture.engine()
        let policy = ReplayPolicy(.onFailure, keyLifetime: nil)
        let error = try await fixture.queued(fixture.note(policy), by: engine)
        #expect(fixture.keys == [nil])
        let id = try #require(error.jobID)
        #expect(try engine.queue().job(id)?.state == .needsReview)
    }

    /// The requests that the replayer sends.
    @Test(arguments: [
        (ReplayPolicy(.onFailure, orderingKey: "7"), ["a", "b"]),
        (ReplayPolicy(.onFailure, unique: "7", uniqueness: .replace), ["b"]),
        (ReplayPolicy(.onFailure, unique: "7", uniqueness: .keep), ["a"]),
    ])
    func `a request with an ordering key is not sent before queued ones`(
        _ policy: ReplayPolicy, _ names: [String]
    ) async throws {
        var (first, second) = (fixture.note(policy, method: .put), fixture.note(policy, method: .put))
        (first.url, second.url) = ("http://api.test/a", "http://api.test/b")
        fixture.serve(ReplayFixture.refused)
        let engine = fixture.engine()
        _ = try await fixture.queued(first, by: engine)
        fixture.serve { _ in .stub(status: 200) }
        _ = try await fixture.queued(second, by: engine)
        #expect(fixture.transport.requests.count == 1)
        fixture.clock.advance(by: .seconds(60))
        try await engine.replayer().replay()
        #expect(fixture.transport.requests.map { String($0.url.suffix(1)) } == ["a"] + names)
        // No job precedes the request any more.
        _ = try await engine.send(second)
        #expect(fixture.transport.requests.map { String($0.url.suffix(1)) } == ["a"] + names + ["b"])
    }

    @Test func `an attempt without a network is not counted`() async throws {
        fixture.serve(ReplayFixture.refused)
        let engine = fixture.engine { $0.reachability = StubReachability(isReachable: false) }
        let error = try await fixture.queued(fixture.note(.onFailure), by: engine)
        let id = try #require(error.jobID)
        for _ in 0..<30 {
            fixture.clock.advance(by: .seconds(60))
            try await engine.replayer().replay()
        }
        #expect(try engine.queue().job(id).map { [$0.reason.description, "\($0.attempts)"] } == ["offline", "0"])
    }

    @Test func `a request to be queued is not sent without a store`() async throws {
        let engine = fixture.engine { $0.store = nil }
        await #expect(throws: ConnectionError.self) { try await engine.send(fixture.note(.onFailure)) }
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test func `an attempt during which the wall clock is set back does not begin in the future`() async throws {
        let setting = Guarded<TimeInterval>(0)
        fixture.serve { _ throws(TransportError) in
            setting.withLock { $0 = -3600 }
            throw TransportError(.connectionLost, "lost", serverMayHaveActed: true)
        }
        let engine = fixture.engine { [clock = fixture.clock] in
            $0.now = { clock.date + setting.withLock { $0 } }
        }
        let queue = try engine.queue()
        _ = try queue.counts()
        let id = try #require(try await fixture.queued(fixture.note(.onFailure), by: engine).jobID)
        #expect(try queue.job(id)?.unknownSince == fixture.clock.date - 3600)
    }
}
