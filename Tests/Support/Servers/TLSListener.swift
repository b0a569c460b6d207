#if AsyncHTTPClient
import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// A thread that listens over TLS, on a free port of loopback, until this object is released.
final class TLSListener: Sendable {
    /// `https://127.0.0.1:PORT`
    let base: String
    private let group: MultiThreadedEventLoopGroup

    /// - Parameters:
    ///   - protocols: the protocols of the server, by their names in ALPN.
    ///   - handlers: returns the handlers that follow the TLS handler of a connection; called on the thread.
    init(
        _ identity: TLSServer.Identity,
        _ protocols: [String],
        handlers: @escaping @Sendable () -> [any ChannelHandler]
    ) async throws {
        let context = try NIOSSLContext(server: identity, protocols)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let bootstrap = ServerBootstrap(group: group).childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                let tls: [any ChannelHandler] = [NIOSSLServerHandler(context: context)]
                try channel.pipeline.syncOperations.addHandlers(tls + handlers())
            }
        }
        do {
            let channel = try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
            base = "https://127.0.0.1:\(channel.localAddress?.port ?? 0)"
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
        self.group = group
    }

    deinit { group.shutdownGracefully { _ in } }
}

extension NIOSSLContext {
    fileprivate convenience init(server identity: TLSServer.Identity, _ protocols: [String]) throws {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(identity.certificate.path).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: identity.privateKey.path, format: .pem))
        )
        configuration.applicationProtocols = protocols
        try self.init(configuration: configuration)
    }
}
#endif
