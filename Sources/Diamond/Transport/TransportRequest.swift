public import Foundation
public import HTTPTypes

/// A request to send, with an absolute, encoded URL and its credentials filled in.
///
/// Durations are rounded to whole milliseconds and limited to 0 to 100 years.
public struct TransportRequest: Sendable {
    private struct Content: Sendable {
        var method: HTTPRequest.Method
        var url: String
        var headers: HTTPFields
        var body: TransportBody
        var connectTimeout: Duration?
        var timeout: Duration?
        var needsNewConnection = false
        var target: String?
        var filledSecrets: [String] = []
        var passesCoding = false
        var onInterim: (@Sendable (InterimResponse) -> Void)?
        var adaptation = Adaptation()
    }

    /// The changes that cookies and interceptors have made to the request, and their effect on its response.
    struct Adaptation: Sendable {
        /// Whether the request has credentials of an unknown user now.
        var isPersonal = false
        /// The names of the headers that an interceptor has changed, in lower case. The key of the request does not
        /// contain their values.
        var headers: Set<String> = []
        /// The cookie jar's number of removals when the request's cookies were read; `nil` without a cookie jar.
        var removals: Int?
        /// The part of the attempt's time that interceptors have spent.
        var spent = Duration.zero
    }

    // In one reference, because every step of an exchange copies the request.
    private var content: CopyOnWrite<Content>

    /// The method; any token (RFC 9110 section 9.1).
    public var method: HTTPRequest.Method {
        get { content.value.method }
        _modify { yield &content.value.method }
    }

    /// The absolute URL, percent-encoded, ASCII, without fragment.
    public var url: String {
        get { content.value.url }
        _modify { yield &content.value.url }
    }

    /// The headers to send. `Content-Length` is set from ``body`` and need not be among them.
    public var headers: HTTPFields {
        get { content.value.headers }
        _modify { yield &content.value.headers }
    }

    /// The body of the request.
    public var body: TransportBody {
        get { content.value.body }
        _modify { yield &content.value.body }
    }

    /// The maximum time to establish a connection, including name lookup and TLS; `nil` uses the transport's default.
    /// ``URLSessionTransport`` ignores it.
    public var connectTimeout: Duration? {
        get { content.value.connectTimeout }
        set { content.value.connectTimeout = newValue?.bounded }
    }

    /// The maximum time without progress, with millisecond precision; `nil` sets no limit.
    ///
    /// It limits three times: from the last byte of the request's body to the complete head, including interim
    /// responses; between two pieces of the body; and for all trailers, for which ``CurlTransport`` waits 10 seconds at
    /// most. Time in which the consumer does not read the body does not count.
    public var timeout: Duration? {
        get { content.value.timeout }
        set { content.value.timeout = newValue?.bounded }
    }

    /// Whether the request must be sent on a new connection, for example after a 421 (RFC 9110 section 15.5.20), or if
    /// a reused connection brought no response. Only ``CurlTransport`` obeys it. ``URLSessionTransport`` and
    /// `HTTPClientTransport` ignore it, because their libraries choose the connection.
    public var needsNewConnection: Bool {
        get { content.value.needsNewConnection }
        set { content.value.needsNewConnection = newValue }
    }

    /// The request target (RFC 9112 section 3.2) that is sent byte for byte instead of that of ``url``; `nil` for the
    /// latter. Only ``CurlTransport`` obeys it.
    package var target: String? {
        get { content.value.target }
        set { content.value.target = newValue }
    }

    /// The values of the secrets that were filled in, which are masked in messages.
    var filledSecrets: [String] {
        get { content.value.filledSecrets }
        set { content.value.filledSecrets = newValue }
    }

    /// Whether the response passes as it came: the transport requests no content coding of its own and removes none,
    /// and ``CurlTransport`` keeps the bytes of its fields.
    package var passesCoding: Bool {
        get { content.value.passesCoding }
        set { content.value.passesCoding = newValue }
    }

    /// Receives the interim responses before the final one, but for 100 and 101 (RFC 9110 section 15.2), as they
    /// arrive, on a thread of the transport; `nil` discards them. Only ``CurlTransport`` calls it.
    package var onInterim: (@Sendable (InterimResponse) -> Void)? {
        get { content.value.onInterim }
        set { content.value.onInterim = newValue }
    }

    /// The changes for one attempt; none before.
    var adaptation: Adaptation {
        get { content.value.adaptation }
        _modify { yield &content.value.adaptation }
    }

    /// Creates a request; by default a GET without headers, body or time limits.
    public init(
        method: HTTPRequest.Method = .get,
        url: String,
        headers: HTTPFields = [:],
        body: TransportBody = .none,
        connectTimeout: Duration? = nil,
        timeout: Duration? = nil
    ) {
        content = CopyOnWrite(
            Content(
                method: method, url: url, headers: headers, body: body, connectTimeout: connectTimeout?.bounded,
                timeout: timeout?.bounded))
    }
}

/// The body of a request.
public enum TransportBody: Sendable {
    /// No body, and no `Content-Length`.
    case none
    /// Bytes in memory.
    case bytes(Data)
    /// A stream of pieces, read as fast as they are sent. `length` is sent as `Content-Length`; `nil` sends chunks. The
    /// closure is called once for each exchange.
    case stream(length: Int64?, @Sendable () -> any AsyncSequence<Data, any Error> & Sendable)
}

/// A response with a status of 1xx, which precedes the final one (RFC 9110 section 15.2).
package struct InterimResponse: Hashable, Sendable {
    package let status: HTTPResponse.Status
    package let headers: HTTPFields
}

/// The head of a response, and its body as a stream.
public struct TransportResponse: Sendable {
    /// The status of the final response, not of a 1xx.
    public var status: HTTPResponse.Status
    /// The headers in the order received; names keep their case. Values are read as UTF-8 if they are valid UTF-8, else
    /// as Latin-1. Values that go back to a server are exceptions: `Set-Cookie` keeps its bytes
    /// (`withUnsafeBytesOfValue`), and in a URL in `Location` such bytes are escaped.
    public var headers: HTTPFields
    /// The body, without a content coding that the transport itself requested. For a decoded body, ``headers`` has no
    /// `Content-Encoding` and no `Content-Length`: a response with a length counts as undecoded.
    public var body: BodyStream
    /// The protocol version: `"HTTP/1.1"`, `"HTTP/2"` …
    public var version: String
    /// Whether the request was sent over a connection that was open already; `nil` if the transport does not tell.
    public var isConnectionReused: Bool?

    /// Creates a response, for custom transports.
    public init(
        status: HTTPResponse.Status,
        headers: HTTPFields,
        body: BodyStream,
        version: String = "HTTP/1.1",
        isConnectionReused: Bool? = nil
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.version = version
        self.isConnectionReused = isConnectionReused
    }
}
