import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// An engine that queues unsent requests, a server that may be away, and a clock that the test moves.
final class ReplayFixture: Sendable {
    typealias Answer = StubTransport.Answer

    let temporary = TemporaryStore()
    let clock = TestClock()
    let transport: StubTransport
    private let answer = Guarded<Answer>({ _ in .stub(status: 201, body: #"{"id":1,"text":"a"}"#) })

    init() {
        transport = StubTransport { [answer] request throws(TransportError) in
            try await answer.withLock { $0 }(request)
        }
    }

    func serve(_ answer: @escaping Answer) { self.answer.withLock { $0 = answer } }

    /// Creates an engine. All engines of a fixture share one store.
    func engine(_ change: (inout Engine.Configuration) -> Void = { _ in }) -> Engine {
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.transport = transport
        configuration.now = { [clock] in clock.date }
        configuration.clock = clock
        configuration.uptime = { [clock] in clock.uptime }
        // Where many tests run, a task may wait for seconds.
        configuration.cancellationTimeout = .seconds(600)
        configuration.retry = .never
        configuration.reachability = StubReachability(isReachable: true)
        change(&configuration)
        return Engine(configuration)
    }

    func note(_ replay: ReplayPolicy, method: HTTPRequest.Method = .post) -> Request {
        var request = Request("http://api.test/notes", method: method, body: .json(["text": "a"]))
        request.replay = replay
        return request
    }

    /// The idempotency keys of the received requests.
    var keys: [String?] {
        transport.requests.map { request in HTTPField.Name("Idempotency-Key").flatMap { request.headers[$0] } }
    }

    /// Sends a request, and returns the error that says it was queued.
    func queued(_ request: Request, by engine: Engine) async throws -> ConnectionError {
        try await queued { () throws(ConnectionError) in _ = try await engine.send(request) }
    }

    /// Runs a call, and returns the error that says it was queued.
    func queued(_ body: () async throws(ConnectionError) -> Void) async throws -> ConnectionError {
        do {
            try await body()
        } catch {
            #expect(error.code == .queued, "\(error)")
            return error
        }
        throw ConnectionError(.other, "it was not queued")
    }

    // MARK: Answers

    static let refused: Answer = { _ throws(TransportError) in
        throw TransportError(.cannotConnect, "refused")
    }
    static let lost: Answer = { _ throws(TransportError) in
        throw TransportError(.connectionLost, "lost", serverMayHaveActed: true)
    }

    /// Returns an answer that does not come until the request is canceled.
    static func silence(_ isThere: Gate, isSent: Bool = false) -> Answer {
        { _ throws(TransportError) in
            isThere.open()
            for await _ in AsyncStream<Void>.makeStream().stream {}
            throw TransportError(.cancelled, "canceled", serverMayHaveActed: isSent)
        }
    }

    // MARK: Users

    /// The user who is signed in, with a token for each user.
    final class Login: CredentialProvider {
        let current = Guarded<String?>(nil)
        /// Whether it cannot name the user.
        let isLocked = Guarded(false)

        func identity(for request: Request) async throws -> String? {
            guard !isLocked.withLock({ $0 }) else { throw CocoaError(.fileReadNoPermission) }
            return current.withLock { $0 }
        }

        func secret(_ name: String, for identity: String?) async throws -> String? {
            guard let identity, identity == current.withLock({ $0 }) else { return nil }
            return "token-of-\(identity)"
        }
    }
}
