public import Foundation
// The names of HTTPTypes stand in the interface of this module: `.post`, `HTTPField.Name`. They come with
// `import Diamond`.
@_exported public import HTTPTypes

/// A request to a web API, as a value that can be copied, changed, compared, encoded as JSON and sent again.
///
/// ```swift
/// var request = Request("https://api.example.com/cities", parameters: ["country": "DE", "page": 1])
/// request.parameters["page"] = 2
/// request.cache = .automatic(maxAge: .seconds(60))
/// let cities = try await engine.send(request).decode([City].self)  // City is the app's own type
/// ```
///
/// A request is validated when it is sent. The error for a malformed request names the mistake and the remedy.
public struct Request: Hashable, Sendable {
    /// The method, any token. Responses to `GET`, `HEAD` and `QUERY` (RFC 10008) can come from the cache.
    public var method: HTTPRequest.Method { didSet { resetMemo() } }
    /// The `http` or `https` URL, absolute or relative to the engine's base URL. Its query is sent before
    /// ``parameters``.
    public var url: String { didSet { resetMemo() } }
    /// The typed parameters; none by default. ``destination`` decides where they are sent.
    public var parameters: Parameters { didSet { resetMemo() } }
    /// The part of the request that ``parameters`` are sent in.
    public var destination: ParameterDestination { didSet { resetMemo() } }
    /// The encoding of arrays and objects in ``parameters`` and in a form body.
    public var encoding: ParameterEncoding { didSet { resetMemo() } }
    /// The request's own headers. The engine adds its headers with other names. Set a credential in ``credentials``
    /// instead.
    public var headers: HTTPFields { didSet { resetMemo() } }
    /// The body. `nil` sends no body; empty bytes send an empty one.
    public var body: RequestBody? { didSet { resetMemo() } }
    /// The policy for reading the cache, using the network and storing the response; `automatic` by default. Not part
    /// of the key.
    public var cache: CachePolicy { didSet { resetMemo() } }
    /// The secrets to send, with their places.
    public var credentials: [Credential] = [] { didSet { resetMemo() } }
    /// The user that the request is sent for, such as `"user-42"`. It replaces the credentials in the request's key:
    /// users never share responses, and a new token still finds the entries that an older one stored. With `nil`, the
    /// engine's ``CredentialProvider`` provides the identity. A provided identity replaces only named secrets: a
    /// credential that the request sets itself may be another user's, and remains in the key.
    public var identity: String? {
        didSet {
            hasProvidedIdentity = false
            resetMemo()
        }
    }

    /// Whether the engine's credential provider has named ``identity``. The request's own credentials then remain in
    /// its key.
    private(set) var hasProvidedIdentity = false

    /// Sets the identity that the engine's credential provider names for a request without one.
    mutating func provide(identity: String?) {
        self.identity = identity
        hasProvidedIdentity = identity != nil
    }

    /// A key that replaces method, URL, parameters, headers and body in the request's key. Credentials and identity
    /// still separate requests. Requests with different responses need different keys. If a response varies by a header
    /// (`Vary`), the key has to contain the value of that header. An unsafe request with a key removes the entry of a
    /// GET with the same key.
    public var cacheKey: String? { didSet { resetMemo() } }
    /// The app's names for the response's content, such as `cities`, by which stored responses are invalidated. Not
    /// part of the key.
    public var tags: Tags = [] { didSet { resetMemo() } }
    /// The tags of the stored responses that the request makes stale when it has succeeded, or may have. None by
    /// default. Only unsafe methods, such as POST, have this effect. It also applies when the request is sent from the
    /// queue, after a restart as well. A redirect that repeats the method (307, 308) is no success. Not part of the
    /// key.
    public var invalidates: Tags = [] { didSet { resetMemo() } }
    /// The lane that limits simultaneous exchanges. Not part of the key.
    public var lane = Lane.default { didSet { resetMemo() } }
    /// The policy for retrying a failed request; `nil`, the default, uses the engine's. Not part of the key.
    public var retry: RetryPolicy? {
        get { ownRetry.value }
        set {
            ownRetry = IndirectOptional(newValue)
            resetMemo()
        }
    }
    /// The maximum size of a response body from the server in bytes, after decoding. A larger body fails with
    /// `bodyTooLarge` as soon as the limit is exceeded or a larger length is announced. A stored response is returned
    /// whatever its size. `nil`, the default, uses the engine's limit. Not part of the key. From 0 to 2^53.
    public var bodyLimit: Int? {
        didSet {
            bodyLimit = bodyLimit?.clamped(to: Self.bodyLimits)
            resetMemo()
        }
    }

    /// The limits that the written form can represent.
    static let bodyLimits = 0...Int(clamping: Int64(1) << 53)

    /// The request's identity rules, in addition to the engine's.
    public var rules = IdentityRules() { didSet { resetMemo() } }
    /// The longest time without progress on the wire; 60 seconds by default, `nil` sets no limit. Rounded to whole
    /// milliseconds, 100 years at most. It does not limit the whole exchange.
    public var timeout: Duration? {
        didSet {
            timeout = timeout?.bounded
            resetMemo()
        }
    }

    /// The policy for queueing the request on disk if it cannot be sent now; `.never` by default. Not part of the key.
    public var replay: ReplayPolicy {
        get { ownReplay.value ?? .never }
        set {
            ownReplay = IndirectOptional(newValue == .never ? nil : newValue)
            resetMemo()
        }
    }

    /// Whether the replay policy allows queueing the request. Takes no time for a request without a policy.
    var isReplayable: Bool {
        if case .some(let policy) = ownReplay { policy.mode != .never } else { false }
    }

    private var ownRetry = IndirectOptional<RetryPolicy>.none
    private var ownReplay = IndirectOptional<ReplayPolicy>.none

    /// The results that engines have derived from the request.
    private(set) var memo = RequestMemo()

    private mutating func resetMemo() { memo = RequestMemo() }

    /// The default of ``timeout``.
    package static let defaultTimeout = Duration.seconds(60)

    /// Creates a request. Properties without an argument have their defaults. The URL is absolute, or relative to the
    /// engine's ``Engine/Configuration/baseURL``, which it must not leave.
    public init(
        _ url: String,
        method: HTTPRequest.Method = .get,
        parameters: Parameters = [:],
        headers: HTTPFields = [:],
        body: RequestBody? = nil,
        cache: CachePolicy = .automatic,
        timeout: Duration? = .seconds(60)
    ) {
        self.method = method
        self.url = url
        self.parameters = parameters
        self.headers = headers
        self.body = body
        self.cache = cache
        self.timeout = timeout?.bounded
        destination = .automatic
        encoding = .standard
    }

    /// Creates a request to a `URL`, with the default ``timeout``.
    public init(
        _ url: URL,
        method: HTTPRequest.Method = .get,
        parameters: Parameters = [:],
        headers: HTTPFields = [:],
        body: RequestBody? = nil,
        cache: CachePolicy = .automatic
    ) {
        let text = url.absoluteString
        self.init(text, method: method, parameters: parameters, headers: headers, body: body, cache: cache)
    }
}

/// The part of a request that its parameters are sent in.
public enum ParameterDestination: String, Hashable, Sendable, CaseIterable {
    /// The query for GET, HEAD, DELETE and QUERY, and for every request with a body; otherwise a form.
    case automatic
    /// The query, after the URL's own items.
    case query
    /// A body of `application/x-www-form-urlencoded`.
    case form
    /// A body of `application/json`: an object, with an array for a repeated name.
    case json
}

extension Request: Redacted {
    /// The method, and the URL without user info and query, which may be secret.
    public var description: String { method.line(with: url) }

    /// Names, without the values that may be secret.
    var shownMembers: KeyValuePairs<String, Any> {
        [
            "request": description, "parameters": parameters.map(\.name), "headers": headers.map(\.name.rawName),
            "credentials": credentials, "identity": identity as Any, "cacheKey": cacheKey as Any, "cache": cache,
        ]
    }
}

extension HTTPRequest.Method {
    /// Returns the method, followed by the URL without user info and query.
    func line(with url: String) -> String { "\(rawValue) \(RequestURL.masked(Array(url.utf8)).dropFirst().dropLast())" }
}
