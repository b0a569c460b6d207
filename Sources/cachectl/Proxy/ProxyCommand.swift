#if Tools
import ArgumentParser
import Diamond
import Foundation
import HummingbirdCore

struct ProxyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "proxy",
        abstract: "Runs a caching reverse proxy in front of a server.",
        discussion: """
            Answers from the store what HTTP allows, and forwards other requests. Prints a line for each request: time, \
            client, method, URL, status, bytes, source, duration, agent and reason. At SIGTERM or SIGINT, running \
            requests get 10 seconds to end. At SIGHUP, the file of --log is opened again.

            EXAMPLE
              cachectl proxy --origin https://api.example.com --listen 127.0.0.1:8080
            """
    )

    @OptionGroup var store: StoreOptions

    @Option(help: ArgumentHelp("Forward requests to this server: scheme, host and port.", valueName: "URL"))
    var origin: [String] = []

    @Option(
        help: ArgumentHelp("Listen on this address (default: 127.0.0.1:8080).", valueName: "HOST:PORT"),
        transform: ListenAddress.init(argument:))
    var listen: [ListenAddress] = []

    @Option(
        help: ArgumentHelp(
            "Tell on this address, too, whether the proxy works: 200, or 503.", valueName: "HOST:PORT"),
        transform: ListenAddress.init(argument:))
    var health: ListenAddress?

    @OptionGroup var client: ProxyClientOptions

    @Flag(
        exclusivity: .exclusive,
        help: ArgumentHelp("Be a cache for all clients, or for one (default: --shared)."))
    var kind = Kind.shared

    @Flag(help: "Answer only from the store, also stale responses if the server allows it, and with 504 otherwise.")
    var offline = false

    @Flag(help: "Do not store Set-Cookie fields.")
    var withoutSetCookie = false

    @Option(
        help: ArgumentHelp("Maximum time without progress of the server (default: 60s).", valueName: "TIME"))
    var timeout: Age?

    @Option(
        help: ArgumentHelp(
            "Trust the certificates in this PEM file, too, as those of the server.", valueName: "FILE"),
        completion: .file())
    var caFile: String?

    @Option(
        help: ArgumentHelp(
            "Maximum bytes on disk; a body may take about a quarter (default: the limit of the store, or 256MiB).",
            valueName: "SIZE"))
    var capacity: Size?

    @Flag(help: "Do not write a line for each request.")
    var quiet = false

    @Option(
        help: ArgumentHelp("Append the lines to a file, instead of standard output.", valueName: "FILE"),
        completion: .file())
    var log: String?

    enum Kind: String, EnumerableFlag { case shared, `private` }

    private var address: ListenAddress { listen.first ?? ListenAddress() }

    private var site: ProxySite? {
        guard origin.count == 1, let origin = origin.first else { return nil }
        return ProxySite(origin: origin, listening: address, trustsForwarded: client.trustForwarded)
    }

    func validate() throws {
        guard !origin.isEmpty else {
            throw ValidationError("--origin is missing: name the server, as in --origin https://api.example.com")
        }
        guard origin.count == 1 else {
            throw ValidationError("--origin is given \(origin.count) times: run one proxy for each server")
        }
        guard listen.count <= 1 else {
            throw ValidationError("--listen is given \(listen.count) times: run one proxy for each address")
        }
        guard site != nil else {
            throw ValidationError("--origin is not the URL of another server: write https://HOST or http://HOST:PORT")
        }
        guard !quiet || log == nil else { throw ValidationError("--quiet and --log contradict each other") }
    }

    func run() async throws {
        signal(SIGPIPE, SIG_IGN)
        OpenFiles.raiseLimit()
        guard let site else { throw Failure.usage }
        let file = try logFile()
        let reopening = file?.reopenAtHangup()
        defer { reopening?.cancel() }
        let engine = Engine(connecting: try configuration(for: site))
        if let failure = engine.cacheFailure { throw failure }
        let proxy = ReverseProxy(
            site: site, engine: engine, log: AccessLog(isQuiet: quiet, isJSON: store.json, file: file),
            isOffline: offline, timeout: .milliseconds(timeout?.milliseconds ?? 60_000),
            clientTimeout: .milliseconds(client.clientTimeout?.milliseconds ?? 30_000),
            clients: ClientCount(maximum: client.maxClients.count))
        try await engine.closing { try await serve(proxy) }
    }

    private func logFile() throws -> LogFile? {
        guard let log else { return nil }
        do { return try LogFile(log) } catch {
            throw Failure.report(
                Failure.usage, "the log \(log) cannot be opened (\(LogFile.reason(of: error))): name another file")
        }
    }

    private func configuration(for site: ProxySite) throws -> Engine.Configuration {
        var configuration = try store.configuration()
        if let cache = try? store.findCache(seal: configuration.seal) {
            try store.refuseLocked(cache)
            configuration.useCapacity(of: cache)
        }
        if let capacity { configuration.diskCapacity = capacity.bytes }
        configuration.cacheKind = kind == .shared ? .shared : .private
        configuration.makeGateway(Gateway(keepsCookies: !withoutSetCookie), width: client.maxClients.count)
        // Another proxy would not forward the target byte for byte.
        configuration.transportSettings.proxy = .none
        if let caFile { configuration.transportSettings.tls.roots = .systemAnd(URL(fileURLWithPath: caFile)) }
        do throws(TransportError) { try configuration.replaceTransport { OriginTransport($0, site: site) } } catch {
            throw Failure.report(Failure.usage, "--ca-file: \(error.message)")
        }
        return configuration
    }

    /// The time that running requests have to end after a signal.
    private static let shutdownTime = Duration.seconds(10)

    private func listenForHealth() async throws -> HealthAddress? {
        guard let health else { return nil }
        do { return try await HealthAddress.listen(at: health) } catch {
            throw Failure.report(Failure.usage, "cannot listen on \(health.url): \(Failure.text(of: error))")
        }
    }

    private func serve(_ proxy: ReverseProxy) async throws {
        let healthAddress = try await listenForHealth()
        defer { healthAddress?.close() }
        let (address, origin) = (address, proxy.site.origin)
        let second =
            health.flatMap { health in
                healthAddress?.port.map { ", health on \(health.with(port: $0).url)" }
            } ?? ""
        let server = proxy.server(at: address) { port in
            Output.note("cachectl: listening on \(address.with(port: port).url), for \(origin)\(second)")
        }
        let serving = Task { try await server.run() }
        let interruption = Interruption(at: log == nil ? [SIGINT, SIGTERM, SIGHUP] : [SIGINT, SIGTERM]) {
            healthAddress?.stop()
            Task { try await server.shutdownGracefully() }
            Task {
                try await Task.sleep(for: Self.shutdownTime)
                serving.cancel()
            }
        }
        defer { interruption.end() }
        do { try await serving.value } catch {
            throw Failure.report(Failure.usage, "cannot listen on \(address.url): \(Failure.text(of: error))")
        }
    }
}

/// The limits of a proxy's clients, and the trust in them.
struct ProxyClientOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Maximum time without progress of a client (default: 30s).", valueName: "TIME"))
    var clientTimeout: Age?

    @Option(
        help: ArgumentHelp(
            "Maximum number of clients' connections; others get 503 (default: 1024).", valueName: "N"),
        transform: Limit.init(argument:))
    var maxClients = Limit(1024)

    @Flag(
        help: """
            Pass on the clients' own Forwarded and X-Forwarded fields: only if all clients are proxies that set them.
            """)
    var trustForwarded = false
}
#endif
