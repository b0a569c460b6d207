#if AsyncHTTPClient
import AsyncHTTPClient
import DiamondSQLite
import Dispatch
import NIOCore
import NIOPosix
import NIOSSL

/// The client of a transport: one of its own, or the program's.
final class HTTPClientOwner: Sendable {
    let client: HTTPClient
    /// Whether the client decodes bodies by itself.
    let decompresses: Bool
    /// The event loops of the client, if it is the transport's own.
    private let group: MultiThreadedEventLoopGroup?
    private let isShuttingDown = Guarded(false)
    /// The shutdown in progress; empty if there is none.
    private let shutdown = DispatchGroup()

    init() {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        client = Self.client(on: group)
        decompresses = false
        self.group = group
    }

    init(_ client: HTTPClient, decompresses: Bool) {
        self.client = client
        self.decompresses = decompresses
        group = nil
    }

    private static func client(on group: MultiThreadedEventLoopGroup) -> HTTPClient {
        // The transport decodes bodies itself, because SwiftNIO supports neither several members of gzip nor bare
        // DEFLATE.
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow, decompression: .disabled)
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        configuration.tlsConfiguration = tls
        // The same as libcurl's. The exchange enforces the limit of a request.
        configuration.timeout.connect = .minutes(5)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        // A refused connection is reported at once; the engine decides whether to try again.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.http1_1ConnectionDebugInitializer = { channel in
            channel.eventLoop.makeCompletedFuture { try HTTPClientChunks.add(to: channel) }
        }
        return HTTPClient(eventLoopGroup: group, configuration: configuration)
    }

    var isOwn: Bool { group != nil }

    func loop() -> any EventLoop { client.eventLoopGroup.any() }

    /// Ends every exchange, then shuts down client and thread if they are the transport's own.
    func shutDown(_ exchanges: HTTPClientExchanges) {
        exchanges.close()
        let isFirst = isShuttingDown.withLock { isShuttingDown in
            defer { isShuttingDown = true }
            return !isShuttingDown
        }
        guard isFirst, let group else { return }
        shutdown.enter()
        client.shutdown(queue: .global()) { [shutdown] _ in
            exchanges.stopUsingLoops()
            group.shutdownGracefully { _ in shutdown.leave() }
        }
    }

    /// Waits for the shutdown, a second at most: async-http-client waits for a name lookup, which cannot be canceled.
    func waitForShutdown() async {
        await withCheckedContinuation { waiter in
            DispatchQueue.global().async { [shutdown] in
                _ = shutdown.wait(timeout: .now() + 1)
                waiter.resume()
            }
        }
    }
}
#endif
