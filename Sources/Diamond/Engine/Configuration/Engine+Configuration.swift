public import Foundation
public import HTTPTypes

extension Engine {
    /// The settings of an engine.
    public struct Configuration: Sendable {
        /// The store of the cache and the queue; `nil` for an engine without them, unless they are elsewhere.
        public var store: Store?
        /// The place of the queue: ``QueuePlace/store``, the default, is the file of ``store``.
        public var queue = QueuePlace.store
        /// The place of the cache: ``CachePlace/store``, the default, is the file of ``store``.
        public var cache = CachePlace.store
        /// The seal of the files of the cache and the queue, such as ``AESGCMSeal``; `nil`, the default, leaves them in
        /// clear. It also seals a cache on a server, but not a queue there (``QueuePlace``). See <doc:Sealing>.
        public var seal: (any CacheSeal)?
        #if Compression
        /// Whether the disk tier compresses bodies of text (JSON, XML, HTML and the like) from 1 KiB on with zlib;
        /// `false`. Needs the package's trait `Compression`. Reading accepts both forms. See <doc:CachingResponses> for
        /// the price.
        public var compressesBodies = false
        #endif
        /// The transport that puts bytes on the wire; `nil`, the default, for the platform's: libcurl on Linux with the
        /// trait `Curl`, URLSession elsewhere. It is closed with the engine. See <doc:ChoosingATransport>.
        public var transport: (any Transport)?
        /// The proxy and TLS settings of the platform's transport. If they cannot be applied, every request that needs
        /// the network fails with `badSettings`. So does every such request if ``transport`` is set as well, because
        /// that transport has its own settings.
        public var transportSettings = TransportSettings()
        /// The URL that relative URLs are resolved against (RFC 3986 section 5.2). Its path is a directory, whether or
        /// not it ends with `/`: `cities` follows `https://host/v1` and `https://host/v1/` alike. `nil`, the default,
        /// refuses relative URLs.
        ///
        /// A relative URL cannot lead away from the base URL, because a part of it may come from elsewhere, as in
        /// `Request("cities/\(name)")`. `//host/` is an error, and so is `..` in its path, plain or escaped, also
        /// between escaped slashes and backslashes. A URL that begins with one `/` is a path of the same server: `/a`
        /// is `https://host/a`, whatever the path of the base URL. An absolute URL, with its scheme, is used as it is.
        public var baseURL: String?
        /// The rules for the parts of requests that are excluded from the request key, and for those that are secret,
        /// in addition to the requests' own rules; empty by default.
        public var rules = IdentityRules()
        /// The header fields that identify a stored response: by default all that may select among responses, or those
        /// that the server's `Vary` names.
        public var identityPreset = IdentityPreset.selectingHeaders
        /// The provider of identities and secrets; `nil`, the default, for none.
        public var credentials: (any CredentialProvider)?
        /// The headers sent with every request that does not set them itself. They count for the request key. By
        /// default they are `Accept-Language` and `User-Agent`. A new value replaces both: add to them to keep them.
        ///
        /// `Accept-Language` has the languages that the user prefers, six at most. On Linux these are those of
        /// `LC_ALL`, `LC_MESSAGES`, `LANG` and `LANGUAGE`, and none under `C` and `POSIX`. A response is stored for
        /// each language. `User-Agent` has the program's name, the version of its bundle, and Diamond. It does not
        /// select among responses. Both are read from the platform's settings when the configuration is created.
        public var headers: HTTPFields = DefaultHeaders.platform
        /// The headers, credentials, cache policies and tags of requests to some URLs; none by default. See
        /// <doc:DescribingAnAPI>. A prefix that is malformed makes every request fail with `badRequest`.
        public var defaults: [RequestDefaults] = []
        /// The decoder for the bodies of calls without a decoder of their own; by default a plain `JSONDecoder`.
        /// Of a plain one only the settings are used: see <doc:DescribingAnAPI>.
        public var decoder: any ResponseDecoder = JSONDecoder()
        /// The kind of cache that the engine is: for one user, or shared by all users of a server or proxy. Default:
        /// ``CacheKind/private``. An engine of one kind does not use the entries of the other.
        public var cacheKind = CacheKind.private
        /// The targeted fields that a shared cache obeys, the most specific first (RFC 9213); `["CDN-Cache-Control"]`.
        /// The first of them that is valid and not empty in a response replaces `Cache-Control` and `Expires`. A
        /// private cache reads none.
        public var targetedFields = ["CDN-Cache-Control"]
        /// The capacity of the memory tier in bytes, 32 MiB. ``Cache/memoryCapacity`` changes it later.
        public var memoryCapacity = Cache.defaultMemoryCapacity
        /// The capacity of the disk tier in bytes, 256 MiB. ``Cache/diskCapacity`` changes it later.
        public var diskCapacity = Cache.defaultDiskCapacity
        /// The greatest size of a response's body in bytes, without content coding: 64 MiB, for requests that have no
        /// ``Request/bodyLimit`` of their own. More is the error `bodyTooLarge`, as soon as the bytes have come or are
        /// announced.
        public var bodyLimit = 64 << 20
        /// The greatest number of redirects that are followed for one request, 20; 0 returns the redirect itself.
        public var redirectLimit = 20
        /// The greatest number of exchanges on the wire at the same time, 64. ``Engine/lanes`` changes it later.
        public var width = 64
        /// The greatest number of exchanges with one origin (scheme, host and port) at the same time, 6.
        public var originWidth = 6
        /// The retry policy for requests that have none of their own; three attempts. See <doc:Retrying>.
        public var retry = RetryPolicy.default
        /// The budget for retries to one origin: at most a tenth of its requests, and 10 in addition, in 10 seconds.
        public var retryBudget = RetryBudgetPolicy()
        /// The source of the network's state; `nil`, the default, for the system's. See <doc:Replaying>.
        public var reachability: (any Reachability)?
        /// The sender of the queue's jobs: the app's replayers, the default, or the engine itself. See <doc:Replaying>.
        public var replays = Replays.manually
        /// The policy of a circuit breaker for origins where most exchanges fail; `nil`, the default, for none.
        /// Requests to them fail with `circuitOpen`.
        public var circuit: CircuitPolicy?
        /// The interceptors that adapt requests, and validate and transform responses and errors, in this order; none
        /// by default. See <doc:Intercepting>.
        public var interceptors: [any Interceptor] = []
        /// The cookie jar that stores and sends cookies; `nil`, the default, for none. See <doc:KeepingCookies>.
        public var cookies: CookieJar?
        /// The observers of the engine's events, from the opening of the cache on. See <doc:WatchingActivity>.
        public var observers: [any ActivityObserver] = []
        /// Whether the engine's events are recorded in a file of the ``store``, for `cachectl watch` and
        /// `cachectl top`; `false`. The file takes 8 MiB at most, and has no secrets. See <doc:WatchingActivity>.
        public var recordsEvents = false
        /// The limits of single lanes; a lane that is not named has the engine's width.
        public var lanes: [Lane: LaneLimits] = [:]
        /// The executor for callbacks that name none. By default it is ``CallbackExecutor/main`` on Apple platforms,
        /// and the global dispatch queue elsewhere: many programs on Linux never run their main queue, and callbacks
        /// on it would never be called.
        public var callbackExecutor = CallbackExecutor.platform
        /// The wall clock, which decides freshness.
        public var now: @Sendable () -> Date = { Date() }
        /// The clock for delays and time limits, such as the delay between two attempts.
        public var clock: any Clock<Duration> = ContinuousClock()
        /// Returns the milliseconds since the machine was started. The leases of the queue's jobs end by this time;
        /// ``clock`` determines when they are renewed.
        package var uptime: @Sendable () -> Uptime = { .now }
        /// The time that the queue's owner waits, when it ends, for attempts that ignore their cancellation.
        package var cancellationTimeout = Duration.seconds(5)
        /// The handlers for the results of queued calls, by the kind of the call.
        var replayHandlers: [ExactText: ReplayHandlers.Handler] = [:]
        /// The function that is called at the points of the engine's own replayer at which a test may end the process.
        package var replayPass: @Sendable (ReplayFaultPoint) -> Void = { _ in }
        /// The settings of a gateway; `nil`, the default, for the engine of an app.
        package var gateway: Gateway?
        /// Draws a number from 0 up to 1, for random delays.
        package var draw: @Sendable () -> Double = { Double.random(in: 0..<1) }

        /// Creates a configuration with the defaults.
        ///
        /// - Parameters:
        ///   - store: the store of the cache and the queue; `nil` for an engine without them.
        ///   - queue: the place of the queue.
        ///   - cache: the place of the cache.
        public init(store: Store? = .default, queue: QueuePlace = .store, cache: CachePlace = .store) {
            self.store = store
            self.queue = queue
            self.cache = cache
        }
    }

    static func transport(of configuration: Configuration) -> any Transport {
        if let transport = configuration.transport {
            guard configuration.transportSettings != TransportSettings() else { return transport }
            let reason = "the configuration has a transport, too: give the settings to that transport"
            return RefusingTransport(refusal: .badSettings(reason))
        }
        do throws(TransportError) {
            #if Curl && canImport(CDiamondCurl)
            return try CurlTransport(configuration.transportSettings, credentials: configuration.credentials)
            #else
            return try URLSessionTransport(configuration.transportSettings)
            #endif
        } catch {
            return RefusingTransport(refusal: error)
        }
    }
}

extension Engine.Configuration {
    /// The targeted fields that count: none in a private cache.
    var cacheTargets: [HTTPField.Name] {
        cacheKind == .shared ? targetedFields.compactMap { HTTPField.Name($0) } : []
    }

    /// Whether bodies are compressed; never without the trait.
    var isCompressing: Bool {
        #if Compression
        compressesBodies
        #else
        false
        #endif
    }

    /// Returns the environment that resolves requests: base URL, headers, rules and credentials.
    ///
    /// - Parameter rules: the rules of the store.
    func environment(_ rules: KeyRules) -> Environment {
        var rules = rules.adding(self.rules)
        rules.preset = identityPreset
        rules.separatesUsers = cacheKind == .private
        return Environment(
            baseURL: baseURL, scopedDefaults: ScopedDefaults.all(defaults, within: baseURL), headers: headers,
            rules: rules, provider: credentials,
            gateway: gateway)
    }

    /// Returns a request as an engine keys and sends it.
    package func resolve(_ request: Request) async throws(ConnectionError) -> Request {
        try await environment(KeyRules()).resolve(request)
    }
}

// Not the synthesized text: headers, URLs and other values of the app may hold secrets.
extension Engine.Configuration: Redacted {
    /// The store, the servers, the name of the key that seals it, and the base URL, without possible secrets.
    public var description: String {
        let place = baseURL.map { ", base URL \(RequestURL.masked(Array($0.utf8)))" } ?? ""
        let key = seal.map { ", sealed with the key '\($0.keyID)'" } ?? ""
        let servers = (queue.name.map { ", queue \($0)" } ?? "") + (cache.name.map { ", cache \($0)" } ?? "")
        return (store.map { "store \($0)" } ?? "no store") + servers + key + place
    }

    /// The description and the names of the headers, without values that may be secret.
    var shownMembers: KeyValuePairs<String, Any> {
        ["configuration": description, "headers": headers.map(\.name.rawName)]
    }
}
