import Foundation
import HTTPTypes

/// A whole response as it came over the wire.
@dynamicMemberLookup
struct ReceivedResponse: Sendable {
    /// The response itself.
    struct Content: Sendable {
        var status: HTTPResponse.Status
        var headers: HTTPFields
        var body: Data
        var sentAt: WallTime
        var receivedAt: WallTime
        /// Whether cookies or an interceptor have added a credential of an unknown user to the request. The response is
        /// then for its caller only.
        var isPersonal: Bool
        /// The names of the request's headers that an interceptor has changed, in lower case. The request's key does
        /// not contain their values.
        var adaptedHeaders: Set<String>
        /// The secret values of the request, if the response has a problem that may repeat them.
        var secrets = IndirectOptional<SecretValues>.none
        /// Whether the body goes into a ``BodySink``, and is not here.
        var isInSink: Bool
        /// The status of the last part, if the body was received in parts.
        var partStatus: Int?
    }

    // In one reference, because every step of an exchange copies the response.
    private var content: CopyOnWrite<Content>
    // Not in the content, because they are set while the ended attempt shares it.
    /// The attempts that led to the response; empty if the first attempt did.
    var attempts: [Attempt] = []
    /// The measurements of the exchange.
    var metrics = IndirectOptional<ExchangeMetrics>.none

    init(
        status: HTTPResponse.Status,
        headers: HTTPFields,
        body: Data,
        sentAt: WallTime,
        receivedAt: WallTime,
        isPersonal: Bool = false,
        adaptedHeaders: Set<String> = [],
        isInSink: Bool = false
    ) {
        content = CopyOnWrite(
            Content(
                status: status, headers: headers, body: body, sentAt: sentAt, receivedAt: receivedAt,
                isPersonal: isPersonal, adaptedHeaders: adaptedHeaders, isInSink: isInSink))
    }

    /// A property of the ``Content``.
    subscript<Value>(dynamicMember property: WritableKeyPath<Content, Value>) -> Value {
        get { content.value[keyPath: property] }
        _modify { yield &content.value[keyPath: property] }
    }
}

extension HTTPResponse.Status {
    /// Whether the status redirects to another URL (RFC 9110 section 15.4): 300 and 304 do not.
    var isRedirect: Bool { [301, 302, 303, 307, 308].contains(code) }

    /// Whether the head of a response decides the job of a durable request, even if the body is lost.
    ///
    /// The head of a redirect does not, because its target was not requested yet. The head of a success of a safe
    /// request does not either: such a request is sent for the body, and does no harm a second time.
    func decides(_ method: HTTPRequest.Method) -> Bool { !isRedirect && !(method.isSafe && code < 400) }
}
