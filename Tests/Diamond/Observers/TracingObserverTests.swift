#if Tracing
import DiamondTestSupport
import DiamondTesting
import HTTPTypes
import InMemoryTracing
import Testing
import Tracing

@testable import Diamond

@Suite("The observer for swift-distributed-tracing") struct TracingObserverTests {
    private let tracer = InMemoryTracer()
    // No time passes for the retry policy, however slow the machine is.
    private let clock = TestClock()

    private func engine(_ statuses: Int...) -> Engine {
        let answers = ValueQueue(statuses)
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = StubTransport { _ throws(TransportError) in .stub(status: answers.next()) }
        configuration.draw = { 0.5 }
        configuration.clock = clock
        configuration.observers = [TracingObserver(tracer: tracer)]
        return Engine(configuration)
    }

    @Test(arguments: [false, true])
    func `creates a span of a request, and one of each attempt below it`(
        isConnection: Bool
    ) async throws {
        let engine = engine(503, 200)
        let request = Request("https://user:pass@h/a?token=hidden")
        let asking = Task {
            if isConnection { try await engine.start(request).response } else { try await engine.send(request) }
        }
        await untilTrue { [clock] in !clock.sleeping.isEmpty }
        clock.advance(by: .seconds(1))
        _ = try await asking.value
        await engine.activity.idle()
        let spans = tracer.finishedSpans
        try #require(spans.map(\.operationName) == ["GET", "GET", "request GET"])
        #expect(spans.map(\.kind) == [.client, .client, .internal])
        #expect(spans[0].parentSpanID == spans[2].spanID && spans[1].parentSpanID == spans[2].spanID)
        #expect(spans.map { $0.attributes.get("http.response.status_code") } == [503, 200, 200])
        #expect(spans.map { $0.attributes.get("http.request.resend_count") } == [nil, 1, nil])
        #expect(spans.map { $0.status?.code } == [.error, nil, nil])
        for span in spans {
            #expect(span.attributes.get("http.request.method") == "GET")
            #expect(span.attributes.get("url.full") == "https://h/a?token=•••")
            #expect(span.attributes.get("server.address") == "h" && span.attributes.get("server.port") == 443)
        }
        #expect(spans[2].events.map(\.name) == ["backoff"])
        #expect(tracer.activeSpans.isEmpty)
    }

    @Test func `puts the span of a request below that of its task`() async throws {
        let engine = engine(200, 200)
        try await tracer.withSpan("mine") { _ in
            _ = try await engine.send(Request("http://h/"))
            _ = try await engine.start(Request("http://h/")).response
        }
        await engine.activity.idle()
        let spans = tracer.finishedSpans
        let mine = try #require(spans.first { $0.operationName == "mine" })
        let requests = spans.filter { $0.operationName == "request GET" }
        #expect(requests.count == 2 && requests.allSatisfy { $0.parentSpanID == mine.spanID })
    }

    @Test func `ends every span of several engines`() {
        let observer = TracingObserver(tracer: tracer)
        let tokens = (0..<3).map { _ in Activity(observers: [observer]).begin() }
        for token in tokens { token.end() }
        #expect(tracer.finishedSpans.count == 3 && tracer.activeSpans.isEmpty)
    }

    @Test func `names errors by their codes, and all unusual methods by one name`() throws {
        let activity = Activity(observers: [TracingObserver(tracer: tracer)])
        let method = try #require(HTTPRequest.Method("BREW"))
        let token = activity.begin(.attempt, for: ActivitySubject(lane: .default, origin: "http://h", tags: [])) {
            ActivityRequest(method: method) { "http://h/" }
        }
        token.end(ActivityOutcome(error: "timedOut"))
        let span = try #require(tracer.finishedSpans.first)
        #expect(span.operationName == "HTTP" && span.attributes.get("http.request.method") == "_OTHER")
        #expect(span.attributes.get("error.type") == "timedOut" && span.status?.code == .error)
    }
}
#endif
