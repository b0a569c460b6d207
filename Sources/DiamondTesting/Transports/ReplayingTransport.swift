public import Diamond
import DiamondSQLite
import HTTPTypes

/// Replays the responses of a ``Recording``, without a network.
///
/// A request gets the response that was recorded for the same method, URL and body. Secrets are masked before they are
/// compared. If there are several responses, each request gets the next one, and the last one is repeated. Streamed
/// bodies, such as files and multipart forms, are not recorded: their requests are compared by method and URL only. A
/// request that was not recorded fails with ``TransportError/Code-swift.struct/cannotConnect``.
public final class ReplayingTransport: Transport {
    private struct State {
        /// The indexes of the unused exchanges by key. The last index of a key stays.
        var exchanges: [Recording.ExchangeKey: [Int]]
        /// The indexes of the exchanges that were used.
        var used: Set<Int> = []
    }

    private let state: Guarded<State>
    private let recording: Recording

    /// Creates a transport that replays a recording. Read one with `Recording(contentsOf:)`.
    public init(_ recording: Recording) {
        self.recording = recording
        let exchanges = recording.exchanges
        state = Guarded(
            State(exchanges: Dictionary(grouping: exchanges.indices) { Recording.ExchangeKey(exchanges[$0]) }))
    }

    /// The exchanges that no request has used so far.
    public var unused: [Recording.Exchange] {
        let used = state.withLock { $0.used }
        return recording.exchanges.indices.filter { !used.contains($0) }.map { recording.exchanges[$0] }
    }

    public func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        let key = Recording.ExchangeKey(request)
        let index = state.withLock { state -> Int? in
            guard let index = state.exchanges[key]?.first else { return nil }
            if (state.exchanges[key]?.count ?? 0) > 1 { state.exchanges[key]?.removeFirst() }
            state.used.insert(index)
            return index
        }
        if let index { return try TransportResponse(recording.exchanges[index]) }
        let message = "nothing was recorded for \(key.method) \(key.url): record it, with the same body"
        throw TransportError(.cannotConnect, message)
    }

    public func close() async {}
}

extension TransportResponse {
    fileprivate init(_ exchange: Recording.Exchange) throws(TransportError) {
        guard HTTPResponse.Status(received: exchange.status) != nil else {
            let message = "\(exchange.status), recorded for \(exchange.url), is not a status: give it three digits"
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
