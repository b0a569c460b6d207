import HTTPTypes

/// An exchange as its attempts use it: its request, its policies, and the functions that it reports to.
///
/// A class implements it, so that each step of an exchange stores only a reference.
protocol ExchangeOptions: AnyObject, Sendable {
    var request: TransportRequest { get }
    var policy: RetryPolicy { get }
    /// The maximum number of bytes of a body.
    var bodyLimit: Int { get }
    /// Whether a stored response is served if the server cannot be reached.
    var isAnsweredOffline: Bool { get }
    /// The URL of the request, without secrets.
    var url: String { get }
    /// The origin, as scheme, host and port. Its budget pays for repetitions.
    var origin: String { get }
    var activity: Activity { get }
    /// The scope that its attempts are counted in.
    var scope: ActivityScope { get }
    /// The identity on whose behalf it is sent; `nil` if it is unknown.
    var identity: String? { get }
    /// The rules that tell which of its fields and parameters are secret.
    var rules: KeyRules { get }
    /// Whether a redirect has led to another origin than the caller's.
    var isForeign: Bool { get }
    /// Whether a response whose transfer breaks may be continued, as far as that depends on the request.
    var isContinuable: Bool { get }
    /// Records the body; `nil` if it is not stored, and no later exchange could continue it.
    var recorder: (any BodyRecording)? { get }
    /// The sink of a successful response's body, piece by piece; `nil` if the body is collected.
    var sink: (any BodySink)? { get }
    /// The part of the cache in a response whose body goes into the sink; `nil` without a cache.
    var cacheStatus: CacheStatus? { get }
    /// The source of the request's body; `nil` if the request has it, or there is none.
    var upload: Upload? { get }
    /// The gate to pass before each attempt; `nil` for none.
    var gate: SendGate? { get }
    /// Whether the credentials of the request may be renewed at this time.
    var canRenewCredentials: Bool { get }

    /// Whether the body of a response goes into the sink. Other bodies are collected, because the request may be sent
    /// again, or a stored response returned instead.
    func isForSink(_ status: HTTPResponse.Status) -> Bool

    /// Begins an attempt if the run of the connection allows it, and returns whether it does. Called before each
    /// attempt.
    func beginIfAllowed() -> Bool

    /// Returns the request with newer credentials.
    func renewedRequest() async throws(ConnectionError) -> TransportRequest

    func report(_ event: ExchangeEvent)
}
