import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import HTTPTypes

@testable import Diamond

/// A server that answers each request when the test says so, and counts concurrent requests.
final class ManualServer: Sendable {
    private struct State {
        var waiting: [(url: String, gate: Gate)] = []
        var headers: HTTPFields = [.cacheControl: "max-age=3600"]
    }

    private let state = Guarded(State())

    var transport: StubTransport {
        StubTransport { [self] request throws(TransportError) in
            let gate = Gate()
            state.withLock { $0.waiting.append((request.url, gate)) }
            await withTaskCancellationHandler {
                await gate.wait()
            } onCancel: {
                cancel(gate)
            }
            guard !Task.isCancelled else { throw .cancelled(serverMayHaveActed: true) }
            return .stub(headers: headers, body: request.url)
        }
    }

    private func cancel(_ gate: Gate) {
        state.withLock { $0.waiting.removeAll { $0.gate === gate } }
        gate.open()
    }

    /// The fields of every response.
    var headers: HTTPFields {
        get { state.withLock { $0.headers } }
        set { state.withLock { $0.headers = newValue } }
    }

    var flying: [String] { state.withLock { $0.waiting.map(\.url).sorted() } }

    /// - Parameter number: the position among equal requests, from 0 in order of arrival.
    func land(_ url: String, number: Int = 0) {
        let gate = state.withLock { state in
            let places = state.waiting.indices.filter { state.waiting[$0].url == url }
            return places.dropFirst(number).first.map { state.waiting.remove(at: $0).gate }
        }
        gate?.open()
    }

    func landAll() {
        let gates = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting.map(\.gate)
        }
        for gate in gates { gate.open() }
    }
}
