import Foundation
import HTTPTypes

/// A whole response as it came over the wire. Times are in milliseconds since 1970.
struct ReceivedResponse: Sendable {
    var status: HTTPResponse.Status
    var headers: HTTPFields
    var body: Data
    var sentAt: Int64
    var receivedAt: Int64
    /// Whether an interceptor has sent a credential of an unknown user with the request. The response is then for its
    /// caller only.
    var isPersonal = false
    /// The headers that an interceptor has changed of its request, in lower case: no key tells what they said.
    var adaptedHeaders: Set<String> = []
    /// Whether the body has gone into a ``BodySink``, and is not here.
    var isPoured = false
    /// The attempts that led to the response; empty if the first attempt did.
    var attempts: [Attempt] = []
}
