import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import HTTPTypes

@testable import Diamond

/// An observer of a query that keeps the states that it gets.
final class QueryRecorder<Value: Sendable>: Sendable {
    private let received = Guarded<[QueryState<Value>]>([])
    private let isOver = Guarded(false)
    private let task = Guarded<Task<Void, Never>?>(nil)

    init(_ updates: some AsyncSequence<QueryState<Value>, Never> & Sendable) {
        let task = Task { [received, isOver] in
            for await state in updates { received.withLock { $0.append(state) } }
            isOver.withLock { $0 = true }
        }
        self.task.withLock { $0 = task }
    }

    var states: [QueryState<Value>] { received.withLock { $0 } }
    var last: QueryState<Value>? { states.last }
    var hasEnded: Bool { isOver.withLock { $0 } }

    func cancel() { task.withLock { $0 }?.cancel() }

    /// Waits until the last state satisfies a condition.
    func untilLast(_ condition: (QueryState<Value>) -> Bool) async {
        await untilTrue { last.map(condition) ?? false }
    }

    deinit { cancel() }
}

/// A server with one resource, whose body is the number of its version, and that a POST changes.
final class VersionServer: Sendable {
    private struct State {
        var version = 1
        var status = 200
        var headers: HTTPFields = [.cacheControl: "max-age=60"]
        var isOffline = false
    }

    private let state = Guarded(State())
    /// Closed while responses are held back, after the version was read.
    let gate = Gate()

    init() { gate.open() }

    var version: Int {
        get { state.withLock { $0.version } }
        set { state.withLock { $0.version = newValue } }
    }

    var status: Int {
        get { state.withLock { $0.status } }
        set { state.withLock { $0.status = newValue } }
    }

    var headers: HTTPFields {
        get { state.withLock { $0.headers } }
        set { state.withLock { $0.headers = newValue } }
    }

    var isOffline: Bool {
        get { state.withLock { $0.isOffline } }
        set { state.withLock { $0.isOffline = newValue } }
    }

    var transport: StubTransport {
        StubTransport { [self] request throws(TransportError) in try await response(to: request) }
    }

    private func response(to request: TransportRequest) async throws(TransportError) -> TransportResponse {
        guard !isOffline else {
            throw TransportError(.cannotConnect, "no network", serverMayHaveActed: false)
        }
        guard request.method == .get else {
            version += 1
            return .stub(status: status)
        }
        let response = TransportResponse.stub(status: status, headers: headers, body: "\(version)")
        await gate.wait()
        return response
    }
}

extension QueryState where Value == Response {
    /// The version that the body has.
    var version: Int? { value.flatMap { Int(String(decoding: $0.body, as: UTF8.self)) } }
}
