import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Random queries", .limit(minutes: 10)) struct QueryPropertyTests {
    @Test func `an observer gets no older value after a newer value, and always gets the last value`() async throws {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Effort.rounds(25, soaking: 1000) {
            var round = RandomQueries(&random)
            try await round.run()
        }
    }
}

/// A round of observers, changes, failures and cancellations in random order. The body of each response is the version
/// of the resource that the server has read.
private struct RandomQueries {
    private enum Action: CaseIterable {
        case mutate, mutateElsewhere, invalidate, invalidateElsewhere, purge, fail, recover, join, leave, send, reload
        case sendElsewhere, foreground, time, network, yield
    }

    private final class Server: Sendable {
        private struct State {
            var version = 1
            var isFailing = false
            var random: SplitMix
        }

        private let state: Guarded<State>
        private let headers: HTTPFields

        init(_ random: inout SplitMix) {
            headers = [[:], [.cacheControl: "max-age=60"], [.cacheControl: "no-store"]][random.below(3)]
            state = Guarded(State(random: SplitMix(state: random.next())))
        }

        var version: Int { state.withLock { $0.version } }
        var isFailing: Bool {
            get { state.withLock { $0.isFailing } }
            set { state.withLock { $0.isFailing = newValue } }
        }

        /// Returns a response after a pause before and after the version is read.
        func response(to request: TransportRequest) async throws(TransportError) -> TransportResponse {
            for _ in 0..<pause { await Task.yield() }
            let (version, isFailing) = state.withLock { state in
                if request.method != .get, !state.isFailing { state.version += 1 }
                return (state.version, state.isFailing)
            }
            for _ in 0..<pause { await Task.yield() }
            guard !Task.isCancelled else { throw TransportError(.cancelled, "canceled", serverMayHaveActed: true) }
            guard !isFailing else { throw TransportError(.cannotConnect, "away", serverMayHaveActed: false) }
            return .stub(headers: headers, body: "\(version)")
        }

        private var pause: Int { state.withLock { $0.random.below(2) == 0 ? 0 : $0.random.below(20) } }
    }

    private var random: SplitMix
    private let server: Server
    private let clock = TestClock()
    private let reachability = StubReachability()
    private let engines: [Engine]
    private var recorders: [QueryRecorder<Response>] = []
    private var left: [QueryRecorder<Response>] = []
    private var actions: [Action] = []
    private var tasks: [Task<Void, Never>] = []
    private let cities: Request

    init(_ random: inout SplitMix) {
        let server = Server(&random)
        let transport = StubTransport { request throws(TransportError) in try await server.response(to: request) }
        let store = random.below(4) == 0 ? nil : TemporaryStore()
        engines = (0..<2).map { [clock, reachability] _ in
            var configuration = Engine.Configuration(testing: transport, clock: clock, store: store)
            configuration.reachability = reachability
            return Engine(configuration)
        }
        var cities = Request("http://h/cities")
        cities.tags = ["cities"]
        cities.cache.mode = [.automatic, .staleWhileRevalidate, .revalidate, .reload][random.below(4)]
        self.cities = cities
        self.server = server
        self.random = SplitMix(state: random.next())
    }

    mutating func run() async throws {
        for _ in 0..<40 {
            // Times tell which request was sent first.
            clock.advance(by: .milliseconds(1))
            try await perform(Action.allCases[random.below(Action.allCases.count)])
        }
        await settle()
        for recorder in recorders + left { check(recorder) }
        for engine in engines { await engine.close() }
    }

    private mutating func perform(_ action: Action) async throws {
        actions.append(action)
        let (engine, other) = (engines[0], engines[1])
        switch action {
        case .mutate: inBackground { try? await engine.send(Self.mutation) }
        case .mutateElsewhere: inBackground { try? await other.send(Self.mutation) }
        case .invalidate: try await engine.invalidate(.tag("cities"))
        case .invalidateElsewhere: try await other.invalidate(.tag("cities"))
        case .purge: try await engine.purge(cities)
        case .fail: server.isFailing = true
        case .recover: server.isFailing = false
        case .join:
            let interval: Duration? = random.below(3) == 0 ? .seconds(random.below(5) + 1) : nil
            recorders.append(QueryRecorder(engine.updates(cities, every: interval)))
        case .leave:
            guard let recorder = recorders.popLast() else { return }
            recorder.cancel()
            left.append(recorder)
        case .send: inBackground { [cities] in try? await engine.send(cities) }
        case .reload: inBackground { [cities] in try? await engine.send(Self.reload(cities)) }
        case .sendElsewhere: inBackground { [cities] in try? await other.send(Self.reload(cities)) }
        case .foreground: engine.appDidEnterForeground()
        case .time: clock.advance(by: .seconds(random.below(3)))
        case .network: reachability.isReachable.toggle()
        case .yield: for _ in 0..<random.below(50) { await Task.yield() }
        }
    }

    private mutating func inBackground(_ body: @escaping @Sendable () async -> Response?) {
        tasks.append(Task { _ = await body() })
    }

    private static let mutation: Request = {
        var request = Request("http://h/orders", method: .post)
        request.invalidates = ["cities"]
        return request
    }()

    private static func reload(_ request: Request) -> Request {
        var request = request
        request.cache = .reload
        return request
    }

    /// Changes the resource for the last time, and waits until all observers have that version.
    private mutating func settle() async {
        server.isFailing = false
        if recorders.isEmpty { recorders.append(QueryRecorder(engines[0].updates(cities))) }
        for task in tasks { await task.value }
        _ = try? await engines[0].send(Self.mutation)
        let version = server.version
        for recorder in recorders { await recorder.untilLast { $0.version == version && !$0.isFetching } }
    }

    private func check(_ recorder: QueryRecorder<Response>) {
        let versions = recorder.states.compactMap(\.version)
        #expect(
            zip(versions, versions.dropFirst()).allSatisfy { $0 <= $1 },
            "DIAMOND_SEED=\(Effort.seed) \(cities.cache) \(versions) \(actions)")
        #expect(recorder.states.allSatisfy { ($0.value == nil) == ($0.response == nil) && $0.value == $0.response })
    }
}
