import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The gate that connections start through", .limit(minutes: 5)) struct StartGateTests {
    private struct StopError: Error {}

    @Test func `the gate starts a connection of normal priority however many urgent connections arrive`() async throws {
        var configuration = Engine.Configuration(store: nil)
        (configuration.transport, configuration.width) = (StubTransport(), 1)
        let engine = Engine(configuration)
        let first = engine.start(Request("http://h/"))
        _ = try await first.response
        let left = Guarded(5000)
        // Each one starts another while it is active.
        @Sendable func startAnother() {
            let isMore = left.withLock { left in
                left -= 1
                return left >= 0
            }
            guard isMore else { return }
            let connection = Connection(Request("http://h/"))
            connection.queuePriority = .veryHigh
            connection.addDependency(first) { _, _ in
                startAnother()
                throw StopError()
            }
            engine.start(connection)
        }
        for _ in 0..<32 { startAnother() }
        let found = Guarded<Int?>(nil)
        let patient = Connection(Request("http://h/"))
        patient.addDependency(first) { _, _ in
            let number = left.withLock { $0 }
            found.withLock { $0 = number }
            throw StopError()
        }
        engine.start(patient)
        await #expect(throws: ConnectionError.self) { try await patient.response }
        #expect(found.withLock { $0 ?? 0 } > 0, "it has waited for all of them")
        await untilTrue { left.withLock { $0 } < 0 }
        await engine.close()
    }

    /// Waits until the test opens its gate, canceled or not.
    private struct HeldInterceptor: Interceptor {
        let entered: Guarded<Int>
        let gate: Gate

        func validate(_ response: Response) async throws {
            entered.withLock { $0 += 1 }
            await gate.wait()
        }
    }

    @Test func `the gate does not count a canceled connection whose shared exchange goes on`() async throws {
        let slow = HeldInterceptor(entered: Guarded(0), gate: Gate())
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = StubTransport()
        configuration.width = 1
        configuration.interceptors = [slow]
        let engine = Engine(configuration)
        for number in 1...20 {
            let connection = engine.start(Request("http://h/\(number)"))
            await untilTrue { slow.entered.withLock { $0 } == number }
            connection.cancel()
            await untilTrue { connection.isFinished }
        }
        slow.gate.open()
        await untilTrue { engine.activity.counts.isIdle }
        #expect(try await engine.start(Request("http://h/")).response.status == .ok)
        await untilTrue { engine.members.gate.active == 0 }
        await engine.close()
    }
}
