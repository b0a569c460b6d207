#if Metrics
import DiamondTestSupport
import DiamondTesting
import HTTPTypes
import MetricsTestKit
import Testing

@testable import Diamond

@Suite("The observer for swift-metrics") struct MetricsObserverTests {
    private let metrics = TestMetrics()
    private let temporary = TemporaryStore()

    private func engine(_ statuses: Int...) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        let answers = ValueQueue(statuses)
        configuration.transport = StubTransport { _ throws(TransportError) in
            .stub(status: answers.next(), headers: [.cacheControl: "max-age=3600"])
        }
        configuration.draw = { 0 }
        // No time passes for the retry policy, however slow the machine is.
        configuration.clock = TestClock()
        configuration.observers = [MetricsObserver(factory: metrics)]
        return Engine(configuration)
    }

    private func dimensions(of timer: TestTimer) -> [String] { timer.dimensions.map { "\($0)=\($1)" } }

    @Test func `times attempts and requests by server, lane and class of status`() async throws {
        let engine = engine(503, 204)
        _ = try await engine.send(Request("https://h:8443/a?b=1"))
        let attempts = metrics.timers(label: "http.client.request.duration")
        let place = ["server.address=h", "diamond.lane=default", "http.request.method=GET"]
        #expect(
            Set(attempts.map(dimensions)) == [
                place + ["http.response.status_class=5xx", "error.type="],
                place + ["http.response.status_class=2xx", "error.type="],
            ])
        #expect(attempts.allSatisfy { $0.values.count == 1 && $0.values[0] >= 0 })
        let requests = metrics.timers(label: "diamond.request.duration")
        try #require(requests.map(dimensions) == [place + ["http.response.status_class=2xx", "error.type="]])
        #expect(requests[0].values.count == 1)
    }

    @Test func `counts retries, and results of the cache`() async throws {
        var request = Request("http://h/")
        request.retry = RetryPolicy(baseDelay: .milliseconds(1))
        let engine = engine(503, 200)
        _ = try await engine.send(request)
        _ = try await engine.send(request)
        // The retry is immediate: the draw is 0.
        #expect(metrics.counterTotal(label: "diamond.retries") == 1)
        #expect(metrics.counterTotal(label: "diamond.cache.misses") == 1)
        #expect(metrics.counterTotal(label: "diamond.cache.stores") == 1)
        #expect(metrics.counterTotal(label: "diamond.cache.hits", dimensions: [("source", "cache")]) == 1)
    }

    @Test func `times waits, and counts errors by their codes`() throws {
        let observer = MetricsObserver(factory: metrics)
        let activity = Activity(observers: [observer])
        activity.begin(.queue, "images").end()
        activity.begin(.attempt).end(ActivityOutcome(error: "timedOut"))
        activity.begin(.backoff).end()
        let wait = try #require(metrics.timers(label: "diamond.permit.wait").first)
        #expect(dimensions(of: wait) == ["server.address=h", "diamond.lane=images"])
        let attempt = try #require(metrics.timers(label: "http.client.request.duration").first)
        #expect(dimensions(of: attempt).contains("error.type=timedOut"))
        #expect(metrics.counterTotal(label: "diamond.retries") == 0)
    }

    @Test(arguments: [ActivityInterval.Kind.attempt, .request])
    func `gives all timers of a label the same dimensions`(kind: ActivityInterval.Kind) {
        let activity = Activity(observers: [MetricsObserver(factory: metrics)])
        activity.begin(kind).end(ActivityOutcome(status: .ok))
        activity.begin(kind).end(ActivityOutcome(error: "timedOut"))
        activity.begin(kind).end(ActivityOutcome(status: .notFound, error: "badStatus"))
        activity.begin(kind).end()
        let label = kind == .attempt ? "http.client.request.duration" : "diamond.request.duration"
        let timers = metrics.timers(label: label)
        #expect(timers.count == 4 && Set(timers.map { $0.dimensions.map(\.0) }).count == 1)
    }

    @Test func `counts resumed transfers`() {
        MetricsObserver(factory: metrics).receive(.transferResumed(origin: "http://h:80", offset: 5, total: 10))
        #expect(metrics.counterTotal(label: "diamond.transfers.resumed") == 1)
    }

    @Test func `counts engines whose jobs no process sends`() {
        let observer = MetricsObserver(factory: metrics)
        for jobs in [1, 9] { observer.receive(.replayerMissing(jobs: jobs)) }
        #expect(metrics.counterTotal(label: "diamond.replayers.missing") == 2)
    }

    @Test func `times several engines at the same time`() throws {
        let observer = MetricsObserver(factory: metrics)
        let activities = (0..<3).map { _ in Activity(observers: [observer]) }
        for activity in activities + activities {
            let tokens = activities.map { $0.begin() } + [activity.begin()]
            for token in tokens { token.end() }
        }
        let timer = try #require(metrics.timers(label: "http.client.request.duration").first)
        #expect(timer.values.count == 24)
    }

    @Test func `reports only the first hundred servers and lanes by name`() {
        let activity = Activity(observers: [MetricsObserver(factory: metrics)])
        for number in 0..<500 { activity.begin(.attempt, Lane("\(number)"), "http://h\(number):80").end() }
        let timers = metrics.timers(label: "http.client.request.duration")
        #expect(timers.count == 101)
        #expect(timers.map(\.values.count).max() == 400)
        #expect(timers.allSatisfy { !dimensions(of: $0).joined().contains("/") })
    }

    @Test(
        arguments: [
            ("http://h", "h", nil), ("https://h:8443", "h", 8443), ("http://[::1]:80", "[::1]", 80), ("", "", nil),
        ] as [(String, String, Int?)]) func `reads the host and port of a server from an origin`(
            origin: String, host: String, port: Int?
        )
    {
        let intervals = ValueQueue<ActivityInterval>([])
        let activity = Activity(observers: [intervals])
        activity.begin(.attempt, .default, origin).end()
        let server = intervals.next().server
        #expect(server.address == host && server.port == port)
    }
}
#endif
