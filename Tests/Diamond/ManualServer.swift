import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import HTTPTypes

@testable import Diamond

/// Answers each request when it is let go, and knows how many are there at once.
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
            guard !Task.isCancelled else { throw .cancelled(requestMayHaveBeenSent: true) }
            return .stub(headers: headers, body: request.url)
        }
    }

    private func cancel(_ gate: Gate) {
        state.withLock { $0.waiting.removeAll { $0.gate === gate } }
        gate.open()
    }

    /// What every answer comes with.
    var headers: HTTPFields {
        get { state.withLock { $0.headers } }
        set { state.withLock { $0.headers = newValue } }
    }

    var flying: [String] { state.withLock { $0.waiting.map(\.url).sorted() } }

    /// - Parameter number: of those who ask the same, counted from 0 in the order in which they came.
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
