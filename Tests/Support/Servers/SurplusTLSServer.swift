#if AsyncHTTPClient
import DiamondSQLite
import NIOCore

/// A server of one test over TLS that answers its first request with given records, and every other with `own`.
package final class SurplusTLSServer: Sendable {
    /// `https://127.0.0.1:PORT`
    package var base: String { listener.base }
    private let listener: TLSListener
    private let channels: Guarded<[any Channel]>

    /// - Parameter records: the response, each piece in a TLS record of its own.
    package init(_ identity: TLSServer.Identity, answering records: [String]) async throws {
        let channels = Guarded<[any Channel]>([])
        self.channels = channels
        listener = try await TLSListener(identity, ["http/1.1"]) { [SurplusTLSConnection(channels, records)] }
    }

    /// The number of connections so far.
    package var connections: Int { channels.withLock { $0.count } }

    /// Sends bytes on the first connection, and returns when they have arrived.
    package func send(_ text: String) async throws {
        try await channels.withLock { $0.first }?.writeAndFlush(ByteBuffer(string: text)).get()
    }

    /// Returns when the client has closed the first connection.
    package func waitForEnd() async throws { try await channels.withLock { $0.first }?.closeFuture.get() }
}

/// One connection, on the server's thread.
private final class SurplusTLSConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let channels: Guarded<[any Channel]>
    private let records: [String]
    private var isFirst = false

    init(_ channels: Guarded<[any Channel]>, _ records: [String]) {
        (self.channels, self.records) = (channels, records)
    }

    func channelActive(context: ChannelHandlerContext) {
        isFirst = channels.withLock { channels in
            channels.append(context.channel)
            return channels.count == 1
        }
        context.fireChannelActive()
    }

    // The head of a test's request arrives in one piece.
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let own = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nown"
        for record in isFirst ? records : [own] {
            context.channel.writeAndFlush(ByteBuffer(string: record), promise: nil)
        }
        isFirst = false
    }

    // A connection that the client ends early is no error of the test.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}
#endif
