public import Foundation
public import HTTPTypes

/// One request as it goes on the wire: the URL absolute and encoded, the credentials filled in.
///
/// Durations are kept in whole milliseconds, from none to a hundred years.
public struct TransportRequest: Sendable {
    /// Any token (RFC 9110 section 9.1).
    public var method: HTTPRequest.Method
    /// The absolute URL, percent-encoded, ASCII, without fragment.
    public var url: String
    /// Every header to send. `Content-Length` is set from ``body`` and need not be here.
    public var headers: HTTPFields
    /// What it carries up.
    public var body: TransportBody
    /// The longest time to establish a connection, name lookup and TLS included; `nil` means the transport's own.
    public var connectTimeout: Duration? { didSet { connectTimeout = connectTimeout?.bounded } }
    /// The longest time without progress: from the last of the request's body until the whole head is here, however it
    /// drips and whatever interim responses come before it; then between two pieces of the body; then for all trailers, of
    /// which ``CurlTransport`` waits 10 seconds at most. Time in which the consumer holds the body back does not count.
    /// Honored to the millisecond; `nil` means no limit.
    public var timeout: Duration? { didSet { timeout = timeout?.bounded } }
    /// Whether it goes out on a connection that is made for it, and on none that is kept: what was said on that was no
    /// answer to it (a 421, RFC 9110 section 15.5.20), or nothing was said. ``CurlTransport`` obeys; of the others' libraries
    /// nobody can choose a connection.
    public var needsNewConnection = false

    /// A GET without headers, body or limits of time, unless it is said.
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

/// What a request carries up.
public enum TransportBody: Sendable {
    /// No body, and no `Content-Length`.
    case none
    /// Bytes in memory.
    case bytes(Data)
    /// Pieces pulled as the wire takes them; `length` is sent as `Content-Length`, `nil` sends chunks. The stream is
    /// asked for once an exchange.
    case stream(length: Int64?, @Sendable () -> any AsyncSequence<Data, any Error> & Sendable)
}

/// The head of a response, and its body still on the way.
public struct TransportResponse: Sendable {
    /// Of the final response, not of a 1xx.
    public var status: HTTPResponse.Status
    /// The headers in the order received; names keep their case. Values are read as UTF-8 where they are that, else as Latin-1,
    /// but for what goes back to a server: `Set-Cookie` keeps its bytes (`withUnsafeBytesOfValue`), and of a URL in `Location`
    /// they are escaped.
    public var headers: HTTPFields
    /// The body, with a content coding the transport asked for itself already removed, and with it `Content-Encoding` and
    /// `Content-Length` from ``headers``: an answer with a length is taken for one whose bytes are those of the wire.
    public var body: BodyStream
    /// `"HTTP/1.1"`, `"HTTP/2"` …
    public var version: String

    /// For transports of your own.
    public init(status: HTTPResponse.Status, headers: HTTPFields, body: BodyStream, version: String = "HTTP/1.1") {
        self.status = status
        self.headers = headers
        self.body = body
        self.version = version
    }
}
