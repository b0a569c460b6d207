public import Foundation

/// The error of a request that got no response, or one that was refused.
///
/// A response with an error status is no error, except for typed calls and downloads, and if a ``ResponseValidator``
/// refuses it.
///
/// In a closure, such as that of a `Task`, the compiler infers `any Error` for a `do` without a type. With the type,
/// `error` has its properties:
///
/// ```swift
/// Task {
///     do throws(ConnectionError) { show(try await engine.send(cities)) } catch { log(error.message) }
/// }
/// ```
public struct ConnectionError: MessageError, Sendable {
    /// The kinds of failure; new ones may come.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The request cannot be sent as it is. ``ConnectionError/cause`` is a ``RequestError``; a ``ReplayError`` if
        /// the request cannot be queued as it is; or a ``TransportError`` if the transport refuses it.
        public static let badRequest = Code(description: "badRequest")
        /// The connection, the call, or the task that waits for it was canceled.
        public static let cancelled = Code(description: "cancelled")
        /// No byte was transferred for ``Request/timeout``, or the time limit of the ``RetryPolicy`` was reached, or
        /// ``ReplayPolicy/expiry`` of a durable request.
        public static let timedOut = Code(description: "timedOut")
        /// The host's name or the host itself cannot be reached.
        public static let cannotConnect = Code(description: "cannotConnect")
        /// The handshake failed, or the server's certificate is not trusted; ``ConnectionError/cause`` tells which.
        public static let tlsFailed = Code(description: "tlsFailed")
        /// The connection broke, or the body ended early.
        public static let connectionLost = Code(description: "connectionLost")
        /// The response is not HTTP, or is one redirect too many.
        public static let badResponse = Code(description: "badResponse")
        /// A typed call or a download got a status other than 2xx, or a ``ResponseValidator`` refused the status;
        /// ``ConnectionError/response`` has it.
        public static let badStatus = Code(description: "badStatus")
        /// Only the cache was allowed to answer, and nothing is stored that may be served. A typed call throws this
        /// error; an untyped one returns the response, with status 504 and source ``Response/Source/generated``.
        public static let notStored = Code(description: "notStored")
        /// The body is of a type that a ``ResponseValidator`` does not accept; ``ConnectionError/response`` has it.
        public static let badContentType = Code(description: "badContentType")
        /// An ``Interceptor`` of the engine refused the request or its response; ``ConnectionError/cause`` tells why.
        public static let intercepted = Code(description: "intercepted")
        /// The body cannot be decoded as the call's `Output`; ``ConnectionError/response`` has it.
        public static let undecodable = Code(description: "undecodable")
        /// ``Connection/validate(_:)`` refused the response; ``ConnectionError/response`` has it.
        public static let invalidResponse = Code(description: "invalidResponse")
        /// ``Connection/prepare(_:)`` failed; ``ConnectionError/cause`` says why.
        public static let preparationFailed = Code(description: "preparationFailed")
        /// A secret of the request is not known, or the engine's ``CredentialProvider`` failed.
        public static let noCredential = Code(description: "noCredential")
        /// The body, or a line or an event of it, is larger than the request or the engine allows. Or it grows out of
        /// proportion when its coding is removed.
        public static let bodyTooLarge = Code(description: "bodyTooLarge")
        /// The ``TransportSettings`` ask for something that the transport does not support, or name something that does
        /// not exist.
        public static let badSettings = Code(description: "badSettings")
        /// The file of a download cannot be written: no space, no permission, no such directory. The
        /// ``ConnectionError/cause`` is a `POSIXError`. Or the download's ``DownloadSink`` threw an error, which is the
        /// cause.
        public static let cannotWrite = Code(description: "cannotWrite")
        /// The request has no final response, and was queued: ``ConnectionError/jobID`` names the job.
        /// ``ConnectionError/cause`` has the error, unless the request only has to wait for other jobs. Usually it is
        /// sent later. If it may have acted, the job has to be reviewed; if no user is signed in for it, a user has to
        /// sign in (``ReplayJob/state``).
        public static let queued = Code(description: "queued")
        /// The request had to be queued, and could not be: the message contains both errors.
        public static let cannotQueue = Code(description: "cannotQueue")
        /// The connection was started without an engine, or the engine was closed.
        public static let noEngine = Code(description: "noEngine")
        /// The connection is the copy of one whose class does not override ``Connection/copied()``.
        public static let noCopy = Code(description: "noCopy")
        /// A connection that this one depends on failed, was canceled, or returned an unusable result;
        /// ``ConnectionError/cause`` tells why.
        public static let dependencyFailed = Code(description: "dependencyFailed")
        /// The connection depends on itself; the message names the cycle.
        public static let dependencyCycle = Code(description: "dependencyCycle")
        /// Most recent exchanges with the origin failed, and nothing is sent to it before
        /// ``ConnectionError/openUntil``.
        public static let circuitOpen = Code(description: "circuitOpen")
        /// Any other failure; the message and ``ConnectionError/cause`` tell more.
        public static let other = Code(description: "other")
    }

    private struct Content: Sendable {
        var code: Code
        var message: String
        var cause: (any Error)?
        var response: Response?
        var attempts: [Attempt] = []
        var jobID: Int64?
        var openUntil: Date?
        var head = IndirectOptional<ReceivedResponse>.none
    }

    // In one reference, because every step of a request reserves space for an error, and few have one.
    private var content: CopyOnWrite<Content>

    /// The kind of failure.
    public internal(set) var code: Code {
        get { content.value.code }
        set { content.value.code = newValue }
    }

    /// A one-line message with the failure and its remedy, without secrets, for developers and logs. It may contain
    /// URLs and advice about code. For people, choose a text by ``code``, and show the detail of the server's
    /// ``problem``.
    ///
    /// ``Interceptor/transform(_:)-(ConnectionError)`` may replace it. `localizedDescription` is the same text.
    public var message: String {
        get { content.value.message }
        set { content.value.message = newValue }
    }

    /// The underlying ``RequestError``, ``TransportError``, ``ReplayError`` or `DecodingError`, or the error that code
    /// of the app threw. A ``TransportError`` is that of the last attempt. After a redirect, its
    /// ``TransportError/serverMayHaveActed`` is `true`.
    public internal(set) var cause: (any Error)? {
        get { content.value.cause }
        set { content.value.cause = newValue }
    }

    /// The whole response, if one was received and refused.
    public internal(set) var response: Response? {
        get { content.value.response }
        set { content.value.response = newValue }
    }

    /// The attempts of the request, in order, each with the reason why another followed or none did, as in
    /// ``Response/attempts``.
    public internal(set) var attempts: [Attempt] {
        get { content.value.attempts }
        set { content.value.attempts = newValue }
    }

    /// The job of the request in the queue; `nil` if it was not queued, or need not be sent any more.
    public internal(set) var jobID: Int64? {
        get { content.value.jobID }
        set { content.value.jobID = newValue }
    }

    /// The time from which a request to the origin is tried again, by the engine's clock; `nil` unless the code is
    /// ``Code-swift.struct/circuitOpen``.
    public internal(set) var openUntil: Date? {
        get { content.value.openUntil }
        set { content.value.openUntil = newValue }
    }

    /// The head of the last response, if only its body is missing. It decides the state of a durable request's job.
    var head: IndirectOptional<ReceivedResponse> {
        get { content.value.head }
        set { content.value.head = newValue }
    }

    /// The error for the request as a whole, after a redirect: the request was sent, even if nothing of this hop was.
    var afterRedirect: ConnectionError {
        guard var cause = cause as? TransportError else { return self }
        var error = self
        cause.serverMayHaveActed = true
        error.cause = cause
        return error
    }

    /// Creates an error of the app, for example for an ``Interceptor`` that throws it or replaces another one.
    public init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        content = CopyOnWrite(Content(code: code, message: message, cause: cause))
    }

    /// Decodes the body of the ``response``, such as the description of an error by an API.
    ///
    /// - Parameters:
    ///   - type: the type to decode.
    ///   - decoder: the decoder; `nil`, the default, uses the engine's.
    /// - Throws: the decoder's error; `DecodingError` if there is no response.
    public func decode<Value: Decodable>(
        _ type: Value.Type,
        using decoder: (any ResponseDecoder)? = nil
    ) throws -> Value {
        guard let response else {
            let reason = "there is no response to decode: \(code)"
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: reason))
        }
        return try response.decode(type, using: decoder)
    }

    /// Whether no response arrived because of the network: the server could not be reached, the connection broke, or no
    /// response came in time. An app then shows stored data, or tries again later.
    public var isOffline: Bool { [.cannotConnect, .connectionLost, .timedOut].contains(code) }

    /// The problem that the server reports; `nil` if the response is not `application/problem+json` (RFC 9457).
    public var problem: ProblemDetails? { response?.problem }

    package init(_ error: RequestError) { self.init(.badRequest, error.message, cause: error) }

    init(_ error: TransportError) {
        // A sink that refuses the body is no failure of the transport.
        let cause = error.code == .destinationFailed ? error.cause : error
        // The message about a file says what to do.
        let requestError = error.code == .badRequestBody ? error.cause as? RequestError : nil
        self.init(Self.codes[error.code] ?? .other, requestError?.message ?? error.message, cause: cause)
    }

    /// Creates the error of a canceled caller.
    ///
    /// - Parameter job: the job of the request, which is sent nevertheless; `nil` if it was not queued.
    init(cancelledOf job: Int64?) {
        self = .cancelled
        if let job { jobID = job }
    }

    static let cancelled = ConnectionError(.cancelled, "the request was canceled")

    private static let codes: [TransportError.Code: Code] = [
        .badURL: .badRequest, .badRequestBody: .badRequest, .cancelled: .cancelled, .timedOut: .timedOut,
        .cannotResolveHost: .cannotConnect, .cannotConnect: .cannotConnect, .tlsFailed: .tlsFailed,
        .certificateRejected: .tlsFailed,
        .connectionLost: .connectionLost, .truncatedBody: .connectionLost, .badResponse: .badResponse,
        .bodyTooLarge: .bodyTooLarge, .badSettings: .badSettings, .closed: .noEngine, .destinationFailed: .cannotWrite,
    ]
}
