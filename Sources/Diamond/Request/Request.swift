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
/// Making and changing a request checks nothing; a malformed one is refused, with place and remedy, where it is sent.
public struct Request: Hashable, Sendable {
    /// Any token is a method. `GET`, `HEAD` and `QUERY` (RFC 10008) are answered from the cache.
    public var method: HTTPRequest.Method { didSet { forget() } }
    /// The `http` or `https` URL, absolute or relative to the engine's base URL; may hold a query, which is sent before
    /// ``parameters``.
    public var url: String { didSet { forget() } }
    /// Typed values under names, which go where ``destination`` says; none by default.
    public var parameters: Parameters { didSet { forget() } }
    /// Where ``parameters`` go.
    public var destination: ParameterDestination { didSet { forget() } }
    /// How arrays and objects among ``parameters``, and in a form, are written.
    public var encoding: ParameterEncoding { didSet { forget() } }
    /// Its own; the engine's come on top where these do not name them. A credential is better named: ``credentials``.
    public var headers: HTTPFields { didSet { forget() } }
    /// `nil` sends no body; empty bytes send an empty one.
    public var body: RequestBody? { didSet { forget() } }
    /// Whether it reads the cache, asks the server, and stores; `automatic`. No part of the identity.
    public var cache: CachePolicy { didSet { forget() } }
    /// Secrets to be filled in, with their places.
    public var credentials: [Credential] = [] { didSet { forget() } }
    /// On whose behalf it is sent, such as `"user-42"`: takes the place of the credentials in what identifies the
    /// request, so that users stay apart and a rotated token finds what an older one has stored. `nil` asks the
    /// engine's ``CredentialProvider``.
    public var identity: String? { didSet { forget() } }
    /// Takes the place of method, URL, parameters, headers and body in what identifies the request; credentials and
    /// identity still separate. Requests that are answered otherwise want other keys: where an answer varies by a header
    /// (`Vary`), the key has to tell what that says. An unsafe request that has it erases what a GET with the same finds.
    public var cacheKey: String? { didSet { forget() } }
    /// The app's names for what it brings, such as `cities`, to invalidate stored responses by. No part of the
    /// identity.
    public var tags: Set<String> = [] { didSet { forget() } }
    /// Which limit of exchanges at the same time counts for it. No part of the identity.
    public var lane = Lane.default { didSet { forget() } }
    /// How often it is sent again when it fails; `nil`, the default, is as the engine does. No part of the identity.
    public var retry: RetryPolicy? {
        get { ownRetry.value }
        set {
            ownRetry = Boxed(newValue)
            forget()
        }
    }
    /// Bytes of a server's answer at most, as they are without content coding; more is the error `bodyTooLarge`, as soon
    /// as they have come, or are announced. What is stored is handed out whatever its size. `nil`, the default, is as the
    /// engine does. No part of the identity. From 0 to 2^53.
    public var bodyLimit: Int? {
        didSet {
            bodyLimit = bodyLimit?.clamped(to: Self.bodyLimits)
            forget()
        }
    }

    /// As many as the written form can tell.
    static let bodyLimits = 0...Int(clamping: Int64(1) << 53)

    /// Beside the engine's.
    public var rules = IdentityRules() { didSet { forget() } }
    /// The longest time without progress on the wire; 60 seconds by default, `nil` waits forever. Kept in whole
    /// milliseconds, a hundred years at most. There is no limit on the whole.
    public var timeout: Duration? {
        didSet {
            timeout = timeout?.bounded
            forget()
        }
    }

    /// Whether it is kept on disk and sent later where it cannot be sent now; `.never`. No part of the identity.
    public var replay: ReplayPolicy {
        get { ownReplay.value ?? .never }
        set {
            ownReplay = Boxed(newValue == .never ? nil : newValue)
            forget()
        }
    }

    /// Whether it is kept at all; costs nothing where it is not.
    var isKept: Bool {
        if case .some(let policy) = ownReplay { policy.mode != .never } else { false }
    }

    private var ownRetry = Boxed<RetryPolicy>.none
    private var ownReplay = Boxed<ReplayPolicy>.none

    /// What engines have worked out about it.
    private(set) var memory = RequestMemory()

    private mutating func forget() { memory = RequestMemory() }

    /// The time that ``timeout`` has when nothing is said.
    public static let defaultTimeout = Duration.seconds(60)

    /// A request; what is not said is as its property says. Its URL is absolute, or relative to the engine's
    /// ``Engine/Configuration/baseURL``, which it does not leave.
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

    /// The same of a `URL`, with the default ``timeout``.
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

/// Where the parameters of a request go.
public enum ParameterDestination: String, Hashable, Sendable, CaseIterable {
    /// The query for GET, HEAD, DELETE and QUERY, and wherever there is a body already; otherwise a form.
    case automatic
    /// The query, behind the URL's own items.
    case query
    /// A body of `application/x-www-form-urlencoded`.
    case form
    /// A body of `application/json`: an object, in which a repeated name becomes an array.
    case json
}

extension Request: CustomStringConvertible, CustomDebugStringConvertible {
    /// Method and URL without what may be secret: no user info, query, parameter, header or body.
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
    /// The method before a URL without what may be secret.
    func line(_ url: String) -> String { "\(rawValue) \(RequestURL.masked(Array(url.utf8)).dropFirst().dropLast())" }
}
