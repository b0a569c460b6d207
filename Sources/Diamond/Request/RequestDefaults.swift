public import HTTPTypes

/// The values that an engine gives to requests to some URLs, unless a request sets them itself.
///
/// ```swift
/// configuration.baseURL = "https://api.example.com/v1/"
/// configuration.defaults = [
///     RequestDefaults(under: "login", credentials: []),
///     RequestDefaults(under: "", credentials: [.bearer(.secret("access"))], tags: ["account"]),
/// ]
/// ```
///
/// If several apply to a request, the first that has a value counts, for each header and each property; tags are
/// combined. They are added before the request is keyed, so that they count like the request's own values.
public struct RequestDefaults: Hashable, Sendable {
    /// The URL of the requests: they have its scheme, host and port, and its path or one below it. Absolute, or
    /// relative to the engine's ``Engine/Configuration/baseURL``; empty for the base URL itself.
    public var prefix: String
    /// The headers for requests that do not set them. They precede the engine's ``Engine/Configuration/headers``.
    public var headers: HTTPFields
    /// The credentials for requests that have none. One for a header that a request sets is left out. An empty array
    /// gives none, and prevents those of later defaults. `nil` leaves them to later defaults.
    public var credentials: [Credential]?
    /// The cache policy for requests whose policy is `automatic`, the default of a request; `nil` for none.
    public var cache: CachePolicy?
    /// The tags that are added to those of a request when it is sent. ``Connection/request`` does not have them.
    public var tags: Tags

    /// Creates defaults for the requests to a URL and to those below it.
    public init(
        under prefix: String,
        headers: HTTPFields = [:],
        credentials: [Credential]? = nil,
        cache: CachePolicy? = nil,
        tags: Tags = []
    ) {
        self.prefix = prefix
        self.headers = headers
        self.credentials = credentials
        self.cache = cache
        self.tags = tags
    }
}

extension Request {
    /// Adds defaults that apply to the request, in their order.
    mutating func add(_ defaults: [RequestDefaults]) {
        if credentials.isEmpty, let added = defaults.lazy.compactMap(\.credentials).first {
            let own = headers
            credentials = added.filter { credential in
                if case .header(let name, _) = credential.place { !own.contains(name) } else { true }
            }
        }
        if cache == .automatic, let policy = defaults.lazy.compactMap(\.cache).first { cache = policy }
        for defaults in defaults {
            tags.formUnion(defaults.tags)
            let own = headers
            for field in defaults.headers where !own.contains(field.name) { headers.append(field) }
        }
    }
}
