#if AsyncHTTPClient
import DiamondSQLite
import Foundation
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL

/// A server of one test that speaks HTTP/2 over TLS and answers by a script, frame by frame: for what happens between the
/// requests of one connection.
///
/// The script is called with every request when its last byte is here, on the server's one thread, and must not block it.
package final class HTTP2Server: Sendable {
    package typealias Script = @Sendable (HTTP2Exchange) -> Void

    /// `https://127.0.0.1:PORT`
    package let base: String
    private let group: MultiThreadedEventLoopGroup
    private let count: Guarded<Int>

    package init(_ identity: TLSServer.Identity, _ script: @escaping Script) async throws {
        let (count, context) = (Guarded(0), try NIOSSLContext(server: identity, ["h2"]))
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let bootstrap = ServerBootstrap(group: group).childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandlers([
                    NIOSSLServerHandler(context: context),
                    // Lengths are the script's to get wrong.
                    NIOHTTP2Handler(mode: .server, contentLengthValidation: .disabled),
                    HTTP2Connection(count, script),
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
        (self.group, self.count) = (group, count)
    }

    deinit { group.shutdownGracefully { _ in } }

    /// Connections on which a request has come.
    package var connections: Int { count.withLock { $0 } }
}

/// One connection, on the server's thread: gathers its requests.
private final class HTTP2Connection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    private let script: HTTP2Server.Script
    private let count: Guarded<Int>
    /// From 1 on; 0 before the first request.
    private var number = 0
    private var exchanges: [HTTP2StreamID: HTTP2Exchange] = [:]

    init(_ count: Guarded<Int>, _ script: @escaping HTTP2Server.Script) {
        (self.count, self.script) = (count, script)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        switch frame.payload {
        case .headers(let headers):
            begin(frame.streamID, headers, context.channel)
            if headers.endStream { finish(frame.streamID) }
        case .data(let data) where data.endStream: finish(frame.streamID)
        case .rstStream: exchanges[frame.streamID]?.isReset.open()
        default: break
        }
    }

    // What the client ends in the middle is no error of the test.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}

    private func begin(_ stream: HTTP2StreamID, _ headers: HTTP2Frame.FramePayload.Headers, _ channel: any Channel) {
        if number == 0 {
            number = count.withLock { count in
                count += 1
                return count
            }
        }
        exchanges[stream] = HTTP2Exchange(on: channel, number, stream, headers.headers.first(name: ":path") ?? "")
    }

    private func finish(_ stream: HTTP2StreamID) {
        if let exchange = exchanges[stream] { script(exchange) }
    }
}
#endif
