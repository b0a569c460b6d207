public import Diamond
import DiamondSQLite
import HTTPTypes

/// Answers from a ``Recording``, without a network.
///
/// A request is answered with what was recorded for the same method, URL and body, secrets masked; asked again, with the
/// next, and with the last one again when there is no more. What was not recorded fails with
/// ``TransportError/Code-swift.struct/cannotConnect``.
public final class ReplayingTransport: Transport {
    private struct State {
        var exchanges: [Recording.Question: [Recording.Exchange]]
        var asked: Set<Recording.Exchange> = []
    }

    private let state: Guarded<State>
    private let recording: Recording

    public init(_ recording: Recording) {
        self.recording = recording
        state = Guarded(State(exchanges: Dictionary(grouping: recording.exchanges, by: Recording.Question.init)))
    }

    /// What nobody has asked for so far.
    public var unused: [Recording.Exchange] {
        let asked = state.withLock { $0.asked }
        return recording.exchanges.filter { !asked.contains($0) }
    }

    public func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        let question = Recording.Question(request)
        let exchange = state.withLock { state -> Recording.Exchange? in
            guard let exchange = state.exchanges[question]?.first else { return nil }
            if (state.exchanges[question]?.count ?? 0) > 1 { state.exchanges[question]?.removeFirst() }
            state.asked.insert(exchange)
            return exchange
        }
        if let exchange { return TransportResponse(exchange) }
        let message = "nothing was recorded for \(question.method) \(question.url): record it, with the same body"
        throw TransportError(.cannotConnect, message)
    }

    public func close() async {}
}

extension TransportResponse {
    fileprivate init(_ exchange: Recording.Exchange) {
        var headers: HTTPFields = [:]
        for line in exchange.headers {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let name = HTTPField.Name(String(parts[0])) else { continue }
            headers.append(HTTPField(name: name, value: String(parts[1].drop { $0 == " " })))
        }
        self = .stub(status: exchange.status, headers: headers, body: exchange.body.data)
    }
}
