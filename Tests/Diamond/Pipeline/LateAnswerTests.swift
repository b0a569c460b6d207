import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// RFC 9111 section 4: if several responses can be used, the most recent one is used.
@Suite("Responses of different age", .limit(minutes: 5)) struct LateAnswerTests {
    /// The age by the `Date` field in seconds, and the `Cache-Control` field.
    typealias Answer = (age: Int64, control: String)

    private let asked = Guarded(0)
    private let gates = [Gate(), Gate()]
    private let request = Request("http://h/", cache: .reload)

    /// Answers each request when its gate is open, in the order of the requests.
    private func engine(_ answers: [Answer]) -> Engine {
        let clock = TestClock()
        let transport = StubTransport { [asked, gates] _ throws(TransportError) in
            let number = asked.withLock { count in
                defer { count += 1 }
                return count
            }
            await gates[number].wait()
            let (age, control) = answers[number]
            let date = HTTPDate.text(of: clock.wallTime - age * 1000)
            return .stub(headers: [.cacheControl: control, .date: date], body: "\(number)")
        }
        var configuration = Engine.Configuration(testing: transport, clock: clock, store: TemporaryStore())
        configuration.width = 64
        return Engine(configuration)
    }

    private func stored(_ engine: Engine) async throws -> String {
        try await engine.send(Request("http://h/", cache: .cacheOnly)).text
    }

    /// The answers to two requests, and the number of the stored answer. The answer to the first request arrives last.
    private static let pairs: [(first: Answer, second: Answer, stored: String)] = [
        ((10, "max-age=3600"), (0, "max-age=3600"), "1"), ((0, "max-age=3600"), (10, "max-age=3600"), "0"),
        ((0, "max-age=3600"), (0, "max-age=3600"), "0"), ((10, "no-store"), (0, "max-age=3600"), "1"),
        ((0, "no-store"), (10, "max-age=3600"), ""),
    ]

    @Test(arguments: pairs.indices)
    func `the most recent response stays stored, whichever arrives last`(index: Int) async throws {
        let (first, second, stored) = Self.pairs[index]
        let engine = engine([first, second])
        let early = Task { [request] in try await engine.send(request) }
        await untilTrue { asked.withLock { $0 } == 1 }
        let late = Task { [request] in try await engine.send(request) }
        await untilTrue { asked.withLock { $0 } == 2 }
        gates[1].open()
        #expect(try await late.value.text == "1")
        gates[0].open()
        #expect(try await early.value.text == "0")
        #expect(try await self.stored(engine) == stored)
    }

    @Test func `the response to a later request replaces the stored entry, whatever its Date`() async throws {
        let engine = engine([(0, "max-age=3600"), (10, "max-age=3600")])
        for gate in gates { gate.open() }
        for _ in 0..<2 { _ = try await engine.send(request) }
        #expect(try await stored(engine) == "1")
    }
}
