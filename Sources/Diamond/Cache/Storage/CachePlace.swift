/// The place of an engine's cache: the file of its store, or a server that the processes of a fleet share.
///
/// A module with a ``CacheStorage`` adds places in an extension:
///
/// ```swift
/// extension CachePlace {
///     public static func redis(_ host: String) -> CachePlace {
///         .server(host) { () throws(CacheError) in try RedisStorage(host) }
///     }
/// }
/// ```
public struct CachePlace: Sendable {
    /// The name of the server in descriptions and messages; `nil` for the store.
    package let name: String?
    package let open: (@Sendable () throws(CacheError) -> any CacheStorage)?

    /// The file `cache.sqlite` of ``Engine/Configuration/store``.
    public static let store = CachePlace(name: nil, open: nil)

    /// A storage on a server. The memory tier is in front of it, and a circuit: while the server does not answer, every
    /// lookup is a miss at once.
    ///
    /// - Parameters:
    ///   - name: the name of the server, without user and password.
    ///   - open: called once, when the engine is created. It should not wait for the server. If it throws, the engine
    ///     has no cache, and ``Engine/cacheFailure`` has the reason.
    public static func server(
        _ name: String, open: @escaping @Sendable () throws(CacheError) -> any CacheStorage
    ) -> CachePlace {
        CachePlace(name: name, open: open)
    }
}
