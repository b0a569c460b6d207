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
            Answers from the store what HTTP allows, and forwards other requests. Prints a line for each request: \
            method, URL, status, bytes, source and time. At SIGTERM or SIGINT, running requests get 10 seconds to end.

            EXAMPLE
              cachectl proxy --origin https://api.example.com --listen 127.0.0.1:8080
            """
    )

    @OptionGroup var store: StoreOptions

    @Option(help: ArgumentHelp("Forward requests to this server: scheme, host and port.", valueName: "URL"))
    var origin: String

    @Option(
        help: ArgumentHelp("Listen on this address (default: 127.0.0.1:8080).", valueName: "HOST:PORT"),
        transform: { text in
            guard let address = ListenAddress(text) else { throw ValidationError("write HOST:PORT") }
            return address
        })
    var listen = ListenAddress()

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
        help: ArgumentHelp("Maximum time without progress of a client (default: 30s).", valueName: "TIME"))
    var clientTimeout: Age?

    @Option(
        help: ArgumentHelp("Maximum number of clients' connections (default: 1024).", valueName: "N"),
        transform: Limit.init(argument:))
    var connections = Limit(1024)

    @Option(
        help: ArgumentHelp(
            "Maximum bytes on disk; a body may take about a quarter (default: the limit of the store, or 256MiB).",
            valueName: "SIZE"))
    var capacity: Size?

    @Flag(help: "Do not print a line for each request.")
    var quiet = false

    enum Kind: String, EnumerableFlag { case shared, `private` }

    func validate() throws {
        guard ProxySite(origin: origin, listening: listen) != nil else {
            throw ValidationError("--origin is not the URL of another server: write https://HOST or http://HOST:PORT")
        }
    }

    func run() async throws {
        signal(SIGPIPE, SIG_IGN)
        OpenFiles.raiseLimit()
        guard let site = ProxySite(origin: origin, listening: listen) else { throw Failure.usage }
        let engine = Engine(try configuration())
        if let failure = engine.cacheFailure { throw Failure.report(failure) }
        let proxy = ReverseProxy(
            site: site, engine: engine, log: AccessLog(isQuiet: quiet), isOffline: offline,
            timeout: .milliseconds(timeout?.milliseconds ?? 60_000),
            clientTimeout: .milliseconds(clientTimeout?.milliseconds ?? 30_000), width: connections.count)
        let result = await Self.serve(proxy, at: listen)
        await engine.close()
        try result.get()
    }

    private func configuration() throws -> Engine.Configuration {
        var configuration = try store.configuration()
        if let cache = try? store.findCache(seal: configuration.seal) {
            try store.refuseLocked(cache)
            configuration.useCapacity(of: cache)
        }
        if let capacity { configuration.diskCapacity = capacity.bytes }
        configuration.cacheKind = kind == .shared ? .shared : .private
        configuration.makeGateway(Gateway(keepsCookies: !withoutSetCookie), width: connections.count)
        // Another proxy would not forward the target byte for byte.
        configuration.transportSettings.proxy = .none
        return configuration
    }

    /// The time that running requests have to end after a signal.
    private static let shutdownTime = Duration.seconds(10)

    private static func serve(_ proxy: ReverseProxy, at address: ListenAddress) async -> Result<Void, any Error> {
        let server = proxy.server(at: address) { port in
            var address = address
            address.port = port
            Output.note("cachectl: listening on \(address.url), for \(proxy.site.origin)")
        }
        let serving = Task { try await server.run() }
        let interruption = Interruption {
            Task { try await server.shutdownGracefully() }
            Task {
                try await Task.sleep(for: shutdownTime)
                serving.cancel()
            }
        }
        defer { interruption.end() }
        do {
            try await serving.value
            return .success(())
        } catch {
            return .failure(Failure.report(Failure.usage, "cannot listen on \(address.url): \(error)"))
        }
    }
}
#endif
