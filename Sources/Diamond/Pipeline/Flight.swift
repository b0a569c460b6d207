import Foundation
import HTTPTypes

/// One exchange on the wire, counted, its body collected.
struct Flight: Sendable {
    /// What came back. Times in milliseconds since 1970.
    struct Arrival: Sendable {
        var status: HTTPResponse.Status
        var headers: HTTPFields
        var body: Data
        var sentAt: Int64
        var receivedAt: Int64
    }

    let transport: any Transport
    let activity: Activity
    let now: @Sendable () -> Int64
    /// Bytes of a body at most.
    let bodyLimit: Int

    func fly(_ request: TransportRequest) async throws(TransportError) -> Arrival {
        let token = activity.begin()
        defer { token.end() }
        let sentAt = now()
        let response = try await transport.send(request)
        let receivedAt = now()
        let body = try await response.body.collect(limit: bodyLimit)
        return Arrival(
            status: response.status,
            headers: response.headers,
            body: body,
            sentAt: sentAt,
            receivedAt: receivedAt
        )
    }
}
