#if AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// Ends a connection of HTTP/1 whose chunks have too much overhead. Two handlers count: this one the bytes before
/// SwiftNIO's decoder, ``BodyCounter`` those behind it. They belong to the connection's event loop.
final class HTTPClientChunks: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The overhead of the body that is being received; `nil` between two bodies.
    private var overhead: ChunkOverhead?

    /// Adds the handlers to a connection, on its event loop.
    static func add(to channel: any Channel) throws {
        let pipeline = channel.pipeline.syncOperations
        let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
        let wire = HTTPClientChunks()
        try pipeline.addHandler(wire, position: .before(decoder))
        try pipeline.addHandler(BodyCounter(wire), position: .after(decoder))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        overhead?.receive(unwrapInboundIn(data).readableBytes)
        context.fireChannelRead(data)
        guard overhead?.isExcessive == true else { return }
        overhead = nil
        context.fireErrorCaught(HTTPClientFailure.chunks)
        context.close(promise: nil)
    }

    /// Counts the data of bodies.
    final class BodyCounter: ChannelInboundHandler {
        typealias InboundIn = HTTPClientResponsePart
        typealias InboundOut = HTTPClientResponsePart

        private let wire: HTTPClientChunks

        init(_ wire: HTTPClientChunks) { self.wire = wire }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head: wire.overhead = ChunkOverhead()
            case .body(let bytes): wire.overhead?.decode(bytes.readableBytes)
            case .end: wire.overhead = nil
            }
            context.fireChannelRead(data)
        }
    }
}
#endif
