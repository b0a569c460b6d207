public import Foundation
public import HTTPTypes

/// One request as it goes on the wire: the URL absolute and encoded, the credentials filled in.
///
/// Durations are kept in whole milliseconds, from none to a hundred years.
public struct TransportRequest: Sendable {
    /// The method; any token (RFC 9110 section 9.1).
    public var method: HTTPRequest.Method
    /// The absolute URL, percent-encoded, ASCII, without fragment.
    public var url: String
    /// The headers to send. `Content-Length` is set from ``body`` and need not be among them.
    public var headers: HTTPFields
    /// The body of the request.
    public var body: TransportBody
    /// The longest time to establish a connection, name lookup and TLS included; `nil` means the transport's own.
    public var connectTimeout: Duration? { didSet { connectTimeout = connectTimeout?.bounded } }
    /// The longest time without progress, honored to the millisecond; `nil` means no limit.
    ///
    /// It applies to the time from the last of the request's body until the whole head has arrived, however slowly it
    /// comes and whatever interim responses precede it; then to the time between two pieces of the body; then to the
    /// time for all trailers, for which ``CurlTransport`` waits 10 seconds at most. Time in which the consumer holds
    /// the body back does not count.
    public var timeout: Duration? { didSet { timeout = timeout?.bounded } }
    /// Whether the request is sent on a new connection, and on none that is kept. On the kept one its response was no
    /// answer to it (a 421, RFC 9110 section 15.5.20), or there was none. ``CurlTransport`` obeys; with the libraries
    /// of the other transports a connection cannot be chosen.
    public var needsNewConnection = false

    /// Creates a request; by default a GET without headers, body or time limits.
    public init(
        method: HTTPRequest.Method = .get,
        url: String,
        headers: HTTPFields = [:],
        body: TransportBody = .none,
        connectTimeout: Duration? = nil,
        timeout: Duration? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.connectTimeout = connectTimeout?.bounded
        self.timeout = timeout?.bounded
    }
}

/// The body of a request.
public enum TransportBody: Sendable {
    /// No body, and no `Content-Length`.
    case none
    /// Bytes in memory.
    case bytes(Data)
    /// Pieces that are pulled as the wire takes them. `length` is sent as `Content-Length`; `nil` sends chunks. The
    /// stream is asked for once per exchange.
    case stream(length: Int64?, @Sendable () -> any AsyncSequence<Data, any Error> & Sendable)
}

/// The head of a response, and its body still on the way.
public struct TransportResponse: Sendable {
    /// The status of the final response, not of a 1xx.
    public var status: HTTPResponse.Status
    /// The headers in the order received; names keep their case. Values are read as UTF-8 if they are valid UTF-8, else
    /// as Latin-1. Values that go back to a server are exceptions: `Set-Cookie` keeps its bytes
    /// (`withUnsafeBytesOfValue`), and in a URL in `Location` such bytes are escaped.
    public var headers: HTTPFields
    /// The body, with a content coding the transport asked for itself already removed, and with it `Content-Encoding` and
    /// `Content-Length` from ``headers``: an answer with a length is taken for one whose bytes are those of the wire.
    public var body: BodyStream
    /// The protocol version: `"HTTP/1.1"`, `"HTTP/2"` …
    public var version: String

    /// Creates a response. For transports of your own.
    public init(status: HTTPResponse.Status, headers: HTTPFields, body: BodyStream, version: String = "HTTP/1.1") {
        self.status = status
        self.headers = headers
        self.body = body
        self.version = version
    }
}
