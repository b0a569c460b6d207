public import Diamond
import DiamondSQLite
import HTTPTypes

/// Replays the responses of a ``Recording``, without a network.
///
/// A request is answered with the response recorded for the same method, URL and body, secrets masked. Asked again, it
/// gets the next one, and the last one again when there is no more. A body that goes up in pieces, such as a file or a
/// form with several parts, is not recorded: requests with one are told apart by method and URL alone. A request that
/// was not recorded fails with ``TransportError/Code-swift.struct/cannotConnect``.
public final class ReplayingTransport: Transport {
    private struct State {
        /// By their places in the recording: two may be the same.
        var exchanges: [Recording.Question: [Int]]
        var asked: Set<Int> = []
    }

    private let state: Guarded<State>
    private let recording: Recording

    /// Creates a transport that answers from a recording: `Recording(contentsOf:)` reads one.
    public init(_ recording: Recording) {
        self.recording = recording
        let exchanges = recording.exchanges
        state = Guarded(
            State(exchanges: Dictionary(grouping: exchanges.indices) { Recording.Question(exchanges[$0]) }))
    }

    /// The exchanges that no request has used so far.
    public var unused: [Recording.Exchange] {
        let asked = state.withLock { $0.asked }
        return recording.exchanges.indices.filter { !asked.contains($0) }.map { recording.exchanges[$0] }
    }

    public func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        let question = Recording.Question(request)
        let place = state.withLock { state -> Int? in
            guard let place = state.exchanges[question]?.first else { return nil }
            if (state.exchanges[question]?.count ?? 0) > 1 { state.exchanges[question]?.removeFirst() }
            state.asked.insert(place)
            return place
        }
        if let place { return try TransportResponse(recording.exchanges[place]) }
        let message = "nothing was recorded for \(question.method) \(question.url): record it, with the same body"
        throw TransportError(.cannotConnect, message)
    }

    public func close() async {}
}

extension TransportResponse {
    fileprivate init(_ exchange: Recording.Exchange) throws(TransportError) {
        guard HTTPResponse.Status(received: exchange.status) != nil else {
            let message = "\(exchange.status) was recorded for \(exchange.url), and is no status: give it three digits"
            throw TransportError(.badResponse, message)
        }
        var headers: HTTPFields = [:]
        for line in exchange.headers {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = HTTPField.Name(String(parts[0])) else { continue }
            headers.append(HTTPField(name: name, value: String(parts[1].drop { $0 == " " })))
        }
        self = .stub(status: exchange.status, headers: headers, body: exchange.body.data)
    }
}
