public import Foundation
public import HTTPTypes

extension Engine {
    /// What an engine is made with.
    public struct Configuration: Sendable {
        /// Where cache and queue are kept; `nil` for neither.
        public var store: Store?
        /// What seals the cache's files, such as ``AESGCMSeal``; `nil`, the default, keeps them in clear. The queue's are in
        /// clear in any case. See <doc:Sealing>.
        public var seal: (any CacheSeal)?
        #if Compression
        /// Whether the disk tier compresses bodies of text (JSON, XML, HTML and the like) from 1 KiB on with zlib; `false`.
        /// Only with the package's trait `Compression`. Reading takes either form. See <doc:CachingResponses> for the price.
        public var compressesBodies = false
        #endif
        /// What puts bytes on the wire; `nil`, the default, for the platform's: libcurl on Linux with the trait `Curl`,
        /// URLSession elsewhere. Closed with the engine. See <doc:ChoosingATransport>.
        public var transport: (any Transport)?
        /// Proxy and TLS of the platform's transport. Where they cannot be kept to, or ``transport`` is one of your own, which
        /// brings its own, every request that needs the network fails with `badSettings`.
        public var transportSettings = TransportSettings()
        /// What relative URLs are resolved against, by RFC 3986 section 5.2: end it with `/`. `nil`, the default, refuses them.
        ///
        /// A relative URL does not lead away from it, because a part of one may come from elsewhere, as in
        /// `Request("cities/\(name)")`: `//host/` is an error, and so is `..` in its path, bare or escaped, also between
        /// escaped slashes and backslashes. A URL that begins with one `/` means a path of the same server: `/a` is
        /// `https://host/a`, whatever the path here. A whole URL, with its scheme, goes where it says.
        public var baseURL: String?
        /// What of requests does not count, and what of them is secret, beside their own rules; nothing by default.
        public var rules = IdentityRules()
        /// Names identities and knows secrets; `nil`, the default, for neither.
        public var credentials: (any CredentialProvider)?
        /// Sent with every request that does not set them itself. They are part of what is keyed. What an app sets takes
        /// the place of the ``defaultHeaders`` as a whole: add to them to keep them.
        public var headers: HTTPFields = defaultHeaders
        /// What decodes bodies of calls that bring no decoder of their own; a `JSONDecoder` as Foundation makes it.
        public var decoder: any ResponseDecoder = JSONDecoder()
        /// Bytes the memory tier keeps at most: 32 MiB; ``Cache/memoryCapacity`` changes it later.
        public var memoryCapacity = Cache.defaultMemoryCapacity
        /// Bytes the disk tier keeps at most: 256 MiB; ``Cache/diskCapacity`` changes it later.
        public var diskCapacity = Cache.defaultDiskCapacity
        /// Bytes of a response's body at most, as they are without content coding: 64 MiB, for requests that have no
        /// ``Request/bodyLimit`` of their own. More is the error `bodyTooLarge`, as soon as they have come, or are announced.
        public var bodyLimit = 64 << 20
        /// Redirects followed for one request: 20; 0 returns the redirect itself.
        public var redirectLimit = 20
        /// Exchanges on the wire at the same time: 64; ``Engine/lanes`` changes it later.
        public var width = 64
        /// Exchanges with one origin (scheme, host and port) at the same time: 6.
        public var originWidth = 6
        /// How often a request is sent again that has no word of its own; three attempts. See <doc:Retrying>.
        public var retry = RetryPolicy.default
        /// How many requests to one origin are sent again at most: a tenth of them, and 10 beside in 10 seconds.
        public var retryBudget = RetryBudgetPolicy()
        /// Knows whether the network is there; `nil`, the default, asks the system. See <doc:Replaying>.
        public var reachability: (any Reachability)?
        /// Keeps requests from origins where most exchanges fail; `nil`, the default, for none. They fail with `circuitOpen`.
        public var circuit: CircuitPolicy?
        /// What adapts requests, and validates and transforms responses and errors, in this order; none by default. See
        /// <doc:Intercepting>.
        public var interceptors: [any Interceptor] = []
        /// Keeps and sends cookies; `nil`, the default, for none. See <doc:KeepingCookies>.
        public var cookies: CookieJar?
        /// Who is told what happens, from the opening of the cache on. See <doc:WatchingActivity>.
        public var observers: [any ActivityObserver] = []
        /// What single lanes allow; one that is not named has the engine's width.
        public var lanes: [Lane: LaneLimits] = [:]
        /// Where callbacks are called that do not say; ``CallbackExecutor/platform``: the main thread on Apple platforms, the
        /// system's threads elsewhere.
        public var callbackExecutor = CallbackExecutor.platform
        /// The wall clock, which decides freshness.
        public var now: @Sendable () -> Date = { Date() }
        /// What delays and limits of time go by, such as those between two attempts.
        public var clock: any Clock<Duration> = ContinuousClock()
        /// Milliseconds since the machine was started: what leases of the queue's jobs go by, which ``clock`` renews.
        package var uptime: @Sendable () -> Int64 = { BootClock.milliseconds }
        /// How long the end of the queue's owner waits for attempts that do not heed that they are canceled.
        package var patience = Duration.seconds(5)
        /// From 0 up to 1, for delays that are drawn.
        package var draw: @Sendable () -> Double = { Double.random(in: 0..<1) }

        /// Everything as it is by default.
        ///
        /// - Parameter store: where cache and queue are kept; `nil` for an engine that has neither.
        public init(store: Store? = .default) { self.store = store }
    }

    static func transport(of configuration: Configuration) -> any Transport {
        if let transport = configuration.transport {
            guard configuration.transportSettings != TransportSettings() else { return transport }
            let reason = "the configuration has a transport of its own as well: give them to that one"
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
    /// `Accept-Language` from the languages the user prefers, six at most, where the platform names any: on Linux by
    /// `LC_ALL`, `LC_MESSAGES`, `LANG` and `LANGUAGE`, nothing under `C` and `POSIX`. It selects: answers are kept for each
    /// language. `User-Agent`, which does not, with the program's name, the version of its bundle, and Diamond.
    ///
    /// Made anew each time from what the platform says.
    public static var defaultHeaders: HTTPFields { DefaultHeaders.platform }

    /// Whether bodies are compressed; never without the trait.
    var isCompressing: Bool {
        #if Compression
        compressesBodies
        #else
        false
        #endif
    }

    /// What an engine adds to requests.
    ///
    /// - Parameter rules: the store's.
    func environment(_ rules: KeyRules) -> Environment {
        Environment(baseURL: baseURL, headers: headers, rules: rules.adding(self.rules), provider: credentials)
    }

    /// A request as an engine keys and sends it.
    package func resolve(_ request: Request) async throws(ConnectionError) -> Request {
        try await environment(KeyRules()).resolve(request)
    }
}
