#if AsyncHTTPClient
import DiamondSQLite
import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// A server of one test that speaks HTTP/1.1 over TLS, and nothing else: it answers when as many connections as it is told
/// have a request on them, all at once.
package final class HTTPSServer: Sendable {
    /// `https://127.0.0.1:PORT`
    package let base: String
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    package init(_ identity: TLSServer.Identity, answersAt count: Int) async throws {
        let context = try NIOSSLContext(server: identity, ["http/1.1"])
        let waiting = Guarded<[any Channel]>([])
        let bootstrap = ServerBootstrap(group: group).childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandlers([
                    NIOSSLServerHandler(context: context), HTTPSConnection(waiting, answersAt: count),
                ])
            }
        }
        do {
            let channel = try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
            base = "https://127.0.0.1:\(channel.localAddress?.port ?? 0)"
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }

    deinit { group.shutdownGracefully { _ in } }
}

/// One connection, on the server's thread, with one request.
private final class HTTPSConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let waiting: Guarded<[any Channel]>
    private let count: Int

    init(_ waiting: Guarded<[any Channel]>, answersAt count: Int) { (self.waiting, self.count) = (waiting, count) }

    // The head of a test comes in one piece.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let channels = waiting.withLock { waiting in
            waiting.append(context.channel)
            guard waiting.count == count else { return [any Channel]() }
            defer { waiting = [] }
            return waiting
        }
        let answer = ByteBuffer(string: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na")
        for channel in channels { channel.writeAndFlush(answer, promise: nil) }
    }

    // What the client ends in the middle is no error of the test.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}

extension NIOSSLContext {
    convenience init(server identity: TLSServer.Identity, _ protocols: [String]) throws {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(identity.certificate.path).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: identity.privateKey.path, format: .pem))
        )
        configuration.applicationProtocols = protocols
        try self.init(configuration: configuration)
    }
}
#endif
