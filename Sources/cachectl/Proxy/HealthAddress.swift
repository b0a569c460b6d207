#if Tools
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix

/// A second address, for programs that check whether the proxy works. On the first address every path is the origin's.
final class HealthAddress: Sendable {
    private let channel: any Channel
    private let isReady: NIOLockedValueBox<Bool>

    private init(_ channel: any Channel, isReady: NIOLockedValueBox<Bool>) {
        self.channel = channel
        self.isReady = isReady
    }

    var port: Int? { channel.localAddress?.port }

    /// Answers 503 from now on, because the proxy stops.
    func stop() { isReady.withLockedValue { $0 = false } }

    func close() { channel.close(promise: nil) }

    /// Starts to listen. Close the returned address.
    static func listen(at address: ListenAddress) async throws -> HealthAddress {
        let isReady = NIOLockedValueBox(true)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(IdleStateHandler(allTimeout: .seconds(10)))
                    try pipeline.configureHTTPServerPipeline(withErrorHandling: true)
                    try pipeline.addHandler(HealthResponder { isReady.withLockedValue { $0 } })
                }
            }
            .bind(host: address.host, port: address.port).get()
        return HealthAddress(channel, isReady: isReady)
    }
}

/// Answers each request with 200, or with 503 while the proxy stops, and closes the connection.
private final class HealthResponder: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let isReady: @Sendable () -> Bool
    private var isHead = false

    init(_ isReady: @escaping @Sendable () -> Bool) { self.isReady = isReady }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): isHead = head.method == .HEAD
        case .body: break
        case .end: answer(context)
        }
    }

    private func answer(_ context: ChannelHandlerContext) {
        let isReady = isReady()
        let body = ByteBuffer(string: #"{"status":"\#(isReady ? "ok" : "unavailable")"}"# + "\n")
        let headers: HTTPHeaders = [
            "Content-Type": "application/json", "Content-Length": "\(body.readableBytes)", "Cache-Control": "no-store",
            "Connection": "close",
        ]
        let status = isReady ? HTTPResponseStatus.ok : .serviceUnavailable
        context.write(wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: headers))), promise: nil)
        if !isHead { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        context.writeAndFlush(wrapOutboundOut(.end(nil))).assumeIsolated().whenComplete { _ in
            context.close(promise: nil)
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
#endif
