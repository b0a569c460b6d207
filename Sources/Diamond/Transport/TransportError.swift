import Foundation

/// The error of an exchange that failed.
public struct TransportError: MessageError, Sendable {
    /// The kinds of failure; later versions may add some.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The URL's scheme is not `http` or `https`, or the URL is malformed.
        public static let badURL = Code(description: "badURL")
        /// The name of the host or of the proxy has no address. Nothing was sent.
        public static let cannotResolveHost = Code(description: "cannotResolveHost")
        /// The host or the proxy refused the connection or is unreachable. Nothing was sent.
        public static let cannotConnect = Code(description: "cannotConnect")
        /// The TLS handshake failed for a reason other than a certificate.
        public static let tlsFailed = Code(description: "tlsFailed")
        /// The certificate is untrusted, expired or for another name, or the server rejected the client certificate. A
        /// retry would fail, too.
        public static let certificateRejected = Code(description: "certificateRejected")
        /// The connection broke before the head was complete, or was reset in the middle.
        public static let connectionLost = Code(description: "connectionLost")
        /// The body ended before its `Content-Length`, its last chunk, or the end of its content coding.
        public static let truncatedBody = Code(description: "truncatedBody")
        /// No progress for ``TransportRequest/timeout``, or no connection within ``TransportRequest/connectTimeout``.
        public static let timedOut = Code(description: "timedOut")
        /// The waiting task was canceled, or the body dropped.
        public static let cancelled = Code(description: "cancelled")
        /// The server sent something that is not HTTP, contradicts itself about where the body ends, or has a broken
        /// content coding. Also a head or trailers beyond the limits.
        public static let badResponse = Code(description: "badResponse")
        /// The stream of the request's body threw, or ended before its length.
        public static let badRequestBody = Code(description: "badRequestBody")
        /// The body is larger than the caller allows, or grows too much when it is decoded.
        public static let bodyTooLarge = Code(description: "bodyTooLarge")
        /// The ``TransportSettings`` ask for something impossible, or name something that does not exist.
        public static let badSettings = Code(description: "badSettings")
        /// The body could not be written to its destination, for example because the disk is full.
        static let destinationFailed = Code(description: "destinationFailed")
        /// The transport was closed.
        public static let closed = Code(description: "closed")
        /// Any other failure, described by the message and the cause.
        public static let other = Code(description: "other")

        /// Whether no response arrived because of the network (``ConnectionError/isOffline``).
        var isOffline: Bool {
            [.cannotResolveHost, .cannotConnect, .connectionLost, .truncatedBody, .timedOut].contains(self)
        }
    }

    private struct Content: Sendable {
        let code: Code
        let message: String
        var serverMayHaveActed: Bool
        let cause: (any Error)?
    }

    // Boxed, because errors are rare, but every result of an exchange has space for one.
    private var content: CopyOnWrite<Content>

    /// The kind of failure. It decides whether a request is sent again.
    public var code: Code { content.value.code }

    /// A one-line message with the failure and its remedy, without secrets.
    public var message: String { content.value.message }

    /// Whether bytes of the request may have reached the server, so that repeating it could act twice. In the cause of
    /// a ``ConnectionError`` it is also `true` if a server has answered the request with a redirect before.
    public internal(set) var serverMayHaveActed: Bool {
        get { content.value.serverMayHaveActed }
        set { content.value.serverMayHaveActed = newValue }
    }

    /// The error of the underlying library, if it contains more information.
    public var cause: (any Error)? { content.value.cause }

    /// Creates an error, for custom transports.
    ///
    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - message: what happened and what to do, in one line, without secrets.
    ///   - serverMayHaveActed: `true` unless it is certain that nothing was sent. A request that was certainly not
    ///     sent is sent again, whatever its method.
    ///   - cause: the error of the underlying library, if it contains more information.
    public init(
        _ code: Code,
        _ message: String,
        serverMayHaveActed: Bool,
        cause: (any Error)? = nil
    ) {
        content = CopyOnWrite(
            Content(code: code, message: message, serverMayHaveActed: serverMayHaveActed, cause: cause))
    }

    /// Creates the error for a request that was certainly not sent.
    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.init(code, message, serverMayHaveActed: false, cause: cause)
    }

    init(bodyLargerThan limit: Int) {
        let message = "the response's body is larger than \(limit) bytes: raise the limit, or stream it"
        self.init(.bodyTooLarge, message, serverMayHaveActed: true)
    }

    /// Creates the error for a response that is not HTTP.
    static func badResponse(_ mistake: String) -> TransportError {
        TransportError(.badResponse, "\(mistake): check that it speaks HTTP", serverMayHaveActed: true)
    }

    /// The error for an exchange that ends without a head.
    static let noResponse = TransportError(
        .badResponse, "the server sent no response: try again, or check that it speaks HTTP", serverMayHaveActed: true)

    static func closed(serverMayHaveActed isSent: Bool) -> TransportError {
        TransportError(.closed, "the transport was closed: make a new engine", serverMayHaveActed: isSent)
    }

    /// Creates the error for the stream of a request's body.
    static func badStream(
        _ mistake: String, serverMayHaveActed isSent: Bool, cause: (any Error)? = nil
    ) -> TransportError {
        let message = "the stream of the request's body \(mistake)"
        return TransportError(.badRequestBody, message, serverMayHaveActed: isSent, cause: cause)
    }

    static func cancelled(serverMayHaveActed isSent: Bool) -> TransportError {
        TransportError(.cancelled, "the request was canceled", serverMayHaveActed: isSent)
    }

    public var description: String { "\(message) (\(code))" }
}
