#if AsyncHTTPClient
import DiamondSQLite
import Foundation
import NIOCore
import NIOHPACK
import NIOHTTP2

/// A server of one test that speaks HTTP/2 over TLS and answers by a script, frame by frame: for what happens between the
/// requests of one connection.
///
/// The script is called with every request when its last byte is here, on the server's one thread, and must not block it.
package final class HTTP2Server: Sendable {
    package typealias Script = @Sendable (HTTP2Exchange) -> Void

    /// `https://127.0.0.1:PORT`
    package var base: String { listener.base }
    private let listener: TLSListener
    private let count: Guarded<Int>

    package init(_ identity: TLSServer.Identity, _ script: @escaping Script) async throws {
        let count = Guarded(0)
        listener = try await TLSListener(identity, ["h2"]) {
            // Lengths are the script's to get wrong.
            let frames = NIOHTTP2Handler(mode: .server, contentLengthValidation: .disabled)
            return [frames, HTTP2Connection(count, script)]
        }
        self.count = count
    }

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
