#if AsyncHTTPClient
import AsyncHTTPClient
import DiamondSQLite
import Dispatch
import NIOCore
import NIOHTTPCompression
import NIOPosix

/// The clients of a transport: one that decodes bodies and one that does not, because that is a client's and not a
/// request's to choose. A client of the program's is both.
final class HTTPClientPair: Sendable {
    private let decoding: HTTPClient
    private let plain: HTTPClient
    /// Whether `decoding` decodes.
    let decompresses: Bool
    /// What runs the clients, where they are our own.
    private let group: MultiThreadedEventLoopGroup?
    private let isShuttingDown = Guarded(false)
    /// Empty when nothing is left to be shut down.
    private let shutdown = DispatchGroup()

    init() {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let limit = NIOHTTPDecompression.DecompressionLimit.ratio(Expansion.highestRatio)
        decoding = Self.client(on: group, .enabled(limit: limit))
        plain = Self.client(on: group, .disabled)
        decompresses = true
        self.group = group
    }

    init(_ client: HTTPClient, decompresses: Bool) {
        (decoding, plain, group) = (client, client, nil)
        self.decompresses = decompresses
    }

    private static func client(
        on group: MultiThreadedEventLoopGroup,
        _ decompression: HTTPClient.Decompression
    ) -> HTTPClient {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow, decompression: decompression)
        // As libcurl's; a request's own limit is kept by the exchange.
        configuration.timeout.connect = .minutes(5)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        // A refused connection is an answer; the engine decides whether to ask again.
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroup: group, configuration: configuration)
    }

    var isOwn: Bool { group != nil }

    func loop() -> any EventLoop { plain.eventLoopGroup.any() }

    func client(decoding isDecoded: Bool) -> HTTPClient { isDecoded ? decoding : plain }

    /// Ends every exchange, then shuts down clients and thread where they are our own.
    func shutDown(_ exchanges: HTTPClientExchanges) {
        exchanges.close()
        let isFirst = isShuttingDown.withLock { isShuttingDown in
            defer { isShuttingDown = true }
            return !isShuttingDown
        }
        guard isFirst, let group else { return }
        shutdown.enter()
        let clients = DispatchGroup()
        for client in [decoding, plain] {
            clients.enter()
            client.shutdown { _ in clients.leave() }
        }
        clients.notify(queue: .global()) { [shutdown] in
            exchanges.leave()
            group.shutdownGracefully { _ in shutdown.leave() }
        }
    }

    /// Waits until that is done, a second at most: async-http-client waits for a name lookup, which nothing can end.
    func isShutDown() async {
        await withCheckedContinuation { waiter in
            DispatchQueue.global().async { [shutdown] in
                _ = shutdown.wait(timeout: .now() + 1)
                waiter.resume()
            }
        }
    }
}
#endif
