#if AsyncHTTPClient
import DiamondSQLite
import NIOCore

/// A server of one test that speaks only HTTP/1.1 over TLS. It answers when a given number of connections have a
/// request, all at once.
package final class HTTPSServer: Sendable {
    /// `https://127.0.0.1:PORT`
    package var base: String { listener.base }
    private let listener: TLSListener

    package init(_ identity: TLSServer.Identity, answersAt count: Int) async throws {
        let waiting = Guarded<[any Channel]>([])
        listener = try await TLSListener(identity, ["http/1.1"]) { [HTTPSConnection(waiting, answersAt: count)] }
    }
}

/// One connection, on the server's thread, with one request.
private final class HTTPSConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let waiting: Guarded<[any Channel]>
    private let count: Int

    init(_ waiting: Guarded<[any Channel]>, answersAt count: Int) { (self.waiting, self.count) = (waiting, count) }

    // The head of a test's request arrives in one piece.
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

    // A connection that the client ends early is no error of the test.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}
#endif
