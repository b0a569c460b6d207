public import Foundation

/// Why an exchange failed.
public struct TransportError: LocalizedError, Sendable, CustomStringConvertible {
    /// The kinds of failure; new ones may come.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The URL's scheme is not `http` or `https`, or the URL is malformed.
        public static let badURL = Code(description: "badURL")
        /// The name of the host, or of the proxy, has no address. Nothing was sent.
        public static let cannotResolveHost = Code(description: "cannotResolveHost")
        /// The host or the proxy refuses the connection, or is not reached. Nothing was sent.
        public static let cannotConnect = Code(description: "cannotConnect")
        /// The handshake failed, for another reason than a certificate's.
        public static let tlsFailed = Code(description: "tlsFailed")
        /// The certificate is not trusted, is out of date or for another name, or the server does not take ours: another
        /// attempt ends the same.
        public static let certificateRejected = Code(description: "certificateRejected")
        /// The connection broke before the head was complete, or was reset in the middle.
        public static let connectionLost = Code(description: "connectionLost")
        /// The body ended before its `Content-Length`, its last chunk, or the end of its content coding.
        public static let truncatedBody = Code(description: "truncatedBody")
        /// No progress for ``TransportRequest/timeout``, or no connection within ``TransportRequest/connectTimeout``.
        public static let timedOut = Code(description: "timedOut")
        /// The waiting task was canceled, or the body dropped.
        public static let cancelled = Code(description: "cancelled")
        /// What the server sent is not HTTP, contradicts itself on where it ends, or its content coding is broken; or its head
        /// or its trailers are larger than any in earnest.
        public static let badResponse = Code(description: "badResponse")
        /// The stream of the request's body threw, or ended before its length.
        public static let badRequestBody = Code(description: "badRequestBody")
        /// The body is larger than the caller allows, or grows out of proportion when its coding is removed.
        public static let bodyTooLarge = Code(description: "bodyTooLarge")
        /// ``TransportSettings`` ask for what cannot be, or name what is not there.
        public static let badSettings = Code(description: "badSettings")
        /// Whoever takes the body cannot, such as for want of room on the disk.
        static let notTaken = Code(description: "notTaken")
        /// The transport was closed.
        public static let closed = Code(description: "closed")
        /// Something else; the message and the cause say what.
        public static let other = Code(description: "other")
    }

    private struct Content: Sendable {
        var code: Code
        var message: String
        var requestMayHaveBeenSent: Bool
        var cause: (any Error)?
    }

    // Every step of an exchange has room for an error, and few have one.
    private var content: CopyOnWrite<Content>

    /// Which kind of failure it is: what is tried again goes by it.
    public var code: Code {
        get { content.value.code }
        set { content.change { $0.code = newValue } }
    }

    /// What happened and what to do, in one line, without secrets.
    public var message: String {
        get { content.value.message }
        set { content.change { $0.message = newValue } }
    }

    /// Whether bytes of the request may have reached the server, so that repeating it could act twice. As the cause of a
    /// ``ConnectionError`` it counts a server that has answered the request with a redirect before, too.
    public var requestMayHaveBeenSent: Bool {
        get { content.value.requestMayHaveBeenSent }
        set { content.change { $0.requestMayHaveBeenSent = newValue } }
    }

    /// The error of the library below, where it says more.
    public var cause: (any Error)? {
        get { content.value.cause }
        set { content.change { $0.cause = newValue } }
    }

    /// For transports of your own. Where it is not known that nothing was sent, say that it may have been: what was surely not
    /// sent is sent again, whatever its method.
    public init(
        _ code: Code,
        _ message: String,
        requestMayHaveBeenSent: Bool,
        cause: (any Error)? = nil
    ) {
        content = CopyOnWrite(
            Content(code: code, message: message, requestMayHaveBeenSent: requestMayHaveBeenSent, cause: cause))
    }

    /// Of a request of which surely nothing was sent.
    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.init(code, message, requestMayHaveBeenSent: false, cause: cause)
    }

    init(bodyLargerThan limit: Int) {
        let message = "the response's body is larger than \(limit) bytes: raise the limit, or stream it"
        self.init(.bodyTooLarge, message, requestMayHaveBeenSent: true)
    }

    static func cancelled(requestMayHaveBeenSent isSent: Bool) -> TransportError {
        TransportError(.cancelled, "the request was canceled", requestMayHaveBeenSent: isSent)
    }

    public var description: String { "\(message) (\(code))" }

    public var errorDescription: String? { message }
}
