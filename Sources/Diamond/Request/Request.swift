public import Foundation
public import HTTPTypes

/// A call to a web API as a value: copied, changed, compared, written to JSON, sent again.
///
/// ```swift
/// var request = Request("https://api.example.com/cities", parameters: ["country": "DE", "page": 1])
/// request.parameters["page"] = 2
/// request.cache = .automatic(maxAge: .seconds(60))
/// let cities = try await engine.send(request).decode([City].self)  // whatever the API answers with
/// ```
///
/// Creating or changing a request checks nothing. A malformed request is refused when it is sent, with the place of the
/// mistake and the remedy.
public struct Request: Hashable, Sendable {
    /// The method; any token is one. `GET`, `HEAD` and `QUERY` (RFC 10008) are answered from the cache.
    public var method: HTTPRequest.Method { didSet { forget() } }
    /// The `http` or `https` URL, absolute or relative to the engine's base URL. It may hold a query, which is sent
    /// before ``parameters``.
    public var url: String { didSet { forget() } }
    /// Typed values under names; none by default. ``destination`` says where they are sent.
    public var parameters: Parameters { didSet { forget() } }
    /// The place to which ``parameters`` are sent.
    public var destination: ParameterDestination { didSet { forget() } }
    /// The form of arrays and objects among ``parameters``, and in a form body.
    public var encoding: ParameterEncoding { didSet { forget() } }
    /// The request's own headers. The engine's headers are added where these do not name them. A credential is better
    /// named in ``credentials``.
    public var headers: HTTPFields { didSet { forget() } }
    /// The body. `nil` sends none; empty bytes send an empty one.
    public var body: RequestBody? { didSet { forget() } }
    /// The policy that says whether the request reads the cache, asks the server, and stores the answer; `automatic` by
    /// default. Not part of the identity.
    public var cache: CachePolicy { didSet { forget() } }
    /// The secrets to fill in, with their places.
    public var credentials: [Credential] = [] { didSet { forget() } }
    /// The user on whose behalf the request is sent, such as `"user-42"`. It takes the place of the credentials in the
    /// request's identity: users stay apart, and a rotated token finds the entries that an older one has stored. `nil`
    /// asks the engine's ``CredentialProvider``.
    public var identity: String? { didSet { forget() } }
    /// A key that takes the place of method, URL, parameters, headers and body in the request's identity. Credentials
    /// and identity still separate. Requests with different answers need different keys: if an answer varies by a
    /// header (`Vary`), the key has to tell the value of that header. An unsafe request with a key erases the entry
    /// that a GET with the same key finds.
    public var cacheKey: String? { didSet { forget() } }
    /// The app's names for the content of the answer, such as `cities`, by which stored responses are invalidated. Not
    /// part of the identity.
    public var tags: Set<String> = [] { didSet { forget() } }
    /// The lane whose limit of simultaneous exchanges counts for the request. Not part of the identity.
    public var lane = Lane.default { didSet { forget() } }
    /// The policy for sending the request again when it fails; `nil`, the default, uses the engine's. Not part of the
    /// identity.
    public var retry: RetryPolicy? {
        get { ownRetry.value }
        set {
            ownRetry = IndirectOptional(newValue)
            forget()
        }
    }
    /// The largest number of bytes of a server's answer, without content coding. A longer body is the error
    /// `bodyTooLarge`, as soon as that many bytes have come, or are announced. A stored answer is handed out whatever
    /// its size. `nil`, the default, uses the engine's limit. Not part of the identity. From 0 to 2^53.
    public var bodyLimit: Int? {
        didSet {
            bodyLimit = bodyLimit?.clamped(to: Self.bodyLimits)
            forget()
        }
    }

    /// The limits that the written form can tell.
    static let bodyLimits = 0...Int(clamping: Int64(1) << 53)

    /// The request's identity rules, in addition to the engine's.
    public var rules = IdentityRules() { didSet { forget() } }
    /// The longest time without progress on the wire; 60 seconds by default, `nil` waits forever. Kept in whole
    /// milliseconds, a hundred years at most. It does not limit the whole exchange.
    public var timeout: Duration? {
        didSet {
            timeout = timeout?.bounded
            forget()
        }
    }

    /// The policy that says whether the request is kept on disk and sent later if it cannot be sent now; `.never` by
    /// default. Not part of the identity.
    public var replay: ReplayPolicy {
        get { ownReplay.value ?? .never }
        set {
            ownReplay = IndirectOptional(newValue == .never ? nil : newValue)
            forget()
        }
    }

    /// Whether the request is kept at all. Costs nothing for a request that is not.
    var isKept: Bool {
        if case .some(let policy) = ownReplay { policy.mode != .never } else { false }
    }

    private var ownRetry = IndirectOptional<RetryPolicy>.none
    private var ownReplay = IndirectOptional<ReplayPolicy>.none

    /// The results that engines have worked out about the request.
    private(set) var memory = RequestMemory()

    private mutating func forget() { memory = RequestMemory() }

    /// The default of ``timeout``.
    public static let defaultTimeout = Duration.seconds(60)

    /// Creates a request. Each property without an argument has its default. The URL is absolute, or relative to the
    /// engine's ``Engine/Configuration/baseURL``, which it does not leave.
    public init(
        _ url: String,
        method: HTTPRequest.Method = .get,
        parameters: Parameters = [:],
        headers: HTTPFields = [:],
        body: RequestBody? = nil,
        cache: CachePolicy = .automatic,
        timeout: Duration? = defaultTimeout
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

/// The place to which the parameters of a request are sent.
public enum ParameterDestination: String, Hashable, Sendable, CaseIterable {
    /// The query for GET, HEAD, DELETE and QUERY, and for every request that has a body already; otherwise a form.
    case automatic
    /// The query, behind the URL's own items.
    case query
    /// A body of `application/x-www-form-urlencoded`.
    case form
    /// A body of `application/json`: an object, in which a repeated name becomes an array.
    case json
}

extension Request: CustomStringConvertible, CustomDebugStringConvertible {
    /// The method and the URL without the parts that may be secret: no user info, query, parameter, header or body.
    public var description: String { method.line(url) }
    public var debugDescription: String { description }
}

extension Request: CustomReflectable {
    /// Names, without the values that may be secret.
    public var customMirror: Mirror {
        let shown: KeyValuePairs<String, Any> = [
            "request": description, "parameters": parameters.map(\.name), "headers": headers.map(\.name.rawName),
            "credentials": credentials, "identity": identity as Any, "cacheKey": cacheKey as Any, "cache": cache,
        ]
        return Mirror(self, children: shown)
    }
}

extension HTTPRequest.Method {
    /// Returns the method, followed by the URL without the parts that may be secret.
    func line(_ url: String) -> String { "\(rawValue) \(RequestURL.masked(Array(url.utf8)).dropFirst().dropLast())" }
}
