import Foundation
import HTTPTypes

extension Engine {
    /// Sends a call and decodes its body.
    ///
    /// Decoding runs on the caller's executor. What is stored is the response: two calls with one request share it,
    /// each decoding for itself.
    ///
    /// - Throws: ``ConnectionError``: `badStatus` for a status other than 2xx, and `undecodable`, with the coding path,
    ///   both with the ``ConnectionError/response``.
    public func send<Call: Endpoint>(_ call: Call) async throws(ConnectionError) -> Call.Output {
        try output(of: call, from: try await send(call.request))
    }

    /// What the body of a response to a call is.
    func output<Call: Endpoint>(of call: Call, from response: Response) throws(ConnectionError) -> Call.Output {
        guard response.status.kind == .successful else { throw ConnectionError(badStatus: response) }
        return try response.output(of: call, default: decoder)
    }
}

extension Response {
    fileprivate func output<Call: Endpoint>(
        of call: Call,
        default decoder: any ResponseDecoder
    ) throws(ConnectionError) -> Call.Output {
        if let data = body as? Call.Output { return data }
        if let nothing = Nothing() as? Call.Output { return nothing }
        do {
            return try (call.decoder ?? decoder).decode(Call.Output.self, from: body)
        } catch {
            throw ConnectionError(undecodable: self, as: Call.Output.self, error)
        }
    }
}

extension ConnectionError {
    fileprivate init(badStatus response: Response) {
        let place = RequestURL.masked(Array(response.url.utf8))
        self.init(.badStatus, "\(place) answered \(response.status.code): see the response")
        self.response = response
    }
}
