import Foundation
import HTTPTypes

/// What came back over the wire, whole. Times in milliseconds since 1970.
struct Arrival: Sendable {
    var status: HTTPResponse.Status
    var headers: HTTPFields
    var body: Data
    var sentAt: Int64
    var receivedAt: Int64
    /// Whether an interceptor has sent a credential for it, on whose behalf nobody knows: it is for the one who has asked.
    var isPersonal = false
    /// The headers that an interceptor has changed of its request, in lower case: no key tells what they said.
    var adaptedHeaders: Set<String> = []
    /// Whether the body has gone into a ``BodySink``, and is not here.
    var isPoured = false
    /// What led to it; empty where the first attempt did.
    var attempts: [Attempt] = []
}
