#if AsyncHTTPClient
import DiamondSQLite
import Foundation
import NIOCore
import NIOHPACK
import NIOHTTP2

/// A server of one test that speaks HTTP/2 over TLS and answers by a script, frame by frame: for events between
/// the requests of one connection.
///
/// The script is called for every request after its last byte, on the server's one thread, and must not block that.
package final class HTTP2Server: Sendable {
    package typealias Script = @Sendable (HTTP2Exchange) -> Void

    /// `https://127.0.0.1:PORT`
    package var base: String { listener.base }
    private let listener: TLSListener
    private let count: Guarded<Int>

    package init(_ identity: TLSServer.Identity, _ script: @escaping Script) async throws {
        let count = Guarded(0)
        listener = try await TLSListener(identity, ["h2"]) {
            // The script may announce wrong lengths.
            let frames = NIOHTTP2Handler(mode: .server, contentLengthValidation: .disabled)
            return [frames, HTTP2Connection(count, script)]
        }
        self.count = count
    }

    /// The number of connections with a request.
    package var connections: Int { count.withLock { $0 } }
}

/// One connection, on the server's thread, which collects its requests.
private final class HTTP2Connection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame

    private let script: HTTP2Server.Script
    private let count: Guarded<Int>
    /// The number of the connection, from 1 on; 0 before the first request.
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

    // A connection that the client ends early is no error of the test.
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
