/// The kind of a cache: private, for one user, or shared by many users (RFC 9111 section 1).
public enum CacheKind: String, Hashable, Sendable, CaseIterable, Codable {
    /// The cache of one user, such as an app's. ``Request/identity``, or the credentials, separate the responses of
    /// several accounts of that user.
    case `private`
    /// A cache between many users and a server, such as a proxy's or a backend's. It obeys `private`, `s-maxage` and
    /// `proxy-revalidate`, and stores a response to a request with `Authorization` only if the server allows it. With
    /// another credential, such as `Cookie`, the server has to give a lifetime, to say `public`, or to have each use
    /// validated.
    case shared
}
