import Diamond
import Foundation
import HTTPTypes

extension Transport {
    /// Sends a request and reads the whole body.
    func exchange(_ request: TransportRequest) async throws -> (head: TransportResponse, body: Data) {
        let response = try await send(request)
        return (response, try await response.body.collect())
    }

    func get(_ url: String) async throws -> (head: TransportResponse, body: Data) {
        try await exchange(TransportRequest(url: url))
    }

    /// Returns the error of the exchange, in the head or in the body; `nil` where there is none.
    func failure(of request: TransportRequest) async -> TransportError? {
        do {
            _ = try await exchange(request)
            return nil
        } catch {
            return error as? TransportError
        }
    }

    /// Returns the number of exchanges of `/wire/hang` and `/wire/hang-body` that are open at the server.
    func openExchanges(_ base: String) async throws -> Int {
        let body = try await get("\(base)/wire/open").body
        return try JSONDecoder().decode([String: Int].self, from: body)["open"] ?? -1
    }
}

/// The request that `/wire/echo` reports.
struct Echo: Decodable {
    let method: String
    let target: String
    let headers: [[String]]
    let body: Data

    init(_ json: Data) throws { self = try JSONDecoder().decode(Echo.self, from: json) }

    /// The headers without those that HTTP itself needs.
    var fields: [String] {
        headers.map { $0.joined(separator: ": ") }.filter { !$0.hasPrefix("Host: ") }.sorted()
    }
}

/// The body that `/wire/upload` reports.
struct Receipt: Decodable {
    let bytes: Int
    let checksum: String
    let contentLength: Int?

    init(_ json: Data) throws { self = try JSONDecoder().decode(Receipt.self, from: json) }
}

extension HTTPField.Name {
    static let link = known("Link")
    static let xEmpty = known("X-Empty")
    static let xLatin = known("X-Latin")
    static let xName = known("X-Name")
    static let xRepeat = known("X-Repeat")

    private static func known(_ text: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(text) else { preconditionFailure("\(text) is no field name") }
        return name
    }
}
