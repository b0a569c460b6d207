#if Tools
import ArgumentParser

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
