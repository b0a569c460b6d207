#if Tools
import Diamond
import Foundation
import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix

/// A caching reverse proxy in front of one origin.
struct ReverseProxy: Sendable {
    let site: ProxySite
    let engine: Engine
    let log: AccessLog
    /// Whether only the cache answers.
    let isOffline: Bool
    /// The time without progress after which an exchange with the origin fails.
    let timeout: Duration
    /// The time without progress after which a client's connection is closed.
    let clientTimeout: Duration
    /// The maximum number of clients' connections.
    let width: Int
    let now: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }

    /// The maximum size of a request's head, in bytes.
    static let headLimit = 64 << 10
    /// The maximum number of a request's fields.
    static let fieldLimit = 256

    /// Returns the request that the engine forwards.
    func request(_ request: ProxyRequest) -> Diamond.Request {
        var forwarded = Diamond.Request(
            forwarding: request.method, origin: site.origin, target: request.target, headers: request.fields)
        forwarded.timeout = timeout
        // A disconnected cache serves stale responses, except those that the server forbids (RFC 9111 section 4.2.4).
        if isOffline { forwarded.headers[.cacheControl] = "only-if-cached, max-stale" }
        return forwarded
    }

    /// Returns a server for clients. Run it.
    ///
    /// - Parameter whenListening: receives the port when the server accepts connections.
    func server(
        at address: ListenAddress, whenListening: @escaping @Sendable (Int) -> Void
    ) -> Server<ProxyChannel> {
        let logger = Logger(label: "cachectl", factory: { _ in SwiftLogNoOpLogHandler() })
        return Server(
            childChannelSetup: ProxyChannel(proxy: self),
            configuration: ServerConfiguration(
                address: .hostname(address.host, port: address.port),
                availableConnectionsDelegate: MaximumAvailableConnections(width)),
            onServerRunning: { whenListening($0.localAddress?.port ?? address.port) },
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: logger)
    }
}

/// Sets up and serves the connections of clients.
struct ProxyChannel: ServerChildChannel {
    struct Value: ServerChildChannelValue {
        let connection: NIOAsyncChannel<HTTPServerRequestPart, ResponsePiece>
        let phase: ConnectionPhase
        let presence: ClientPresence
        var channel: any Channel { connection.channel }
    }

    let proxy: ReverseProxy

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let phase = ConnectionPhase()
            let presence = ClientPresence()
            let methods = RequestMethods()
            var limits = NIOHTTPDecoderLimitConfiguration()
            limits.maxHeaderFieldSize = ReverseProxy.headLimit
            limits.maxHeaderListSize = ReverseProxy.headLimit
            limits.maxHeaderFieldCount = ReverseProxy.fieldLimit
            try channel.syncOptions?.setOption(.tcpOption(.tcp_nodelay), value: 1)
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(ClientLimits(phase, presence, limit: .nanoseconds(proxy.clientTimeout.nanoseconds)))
            try pipeline.addHandler(RequestHeadPreparer(methods, limit: ReverseProxy.headLimit))
            try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder(limitConfiguration: limits)))
            try pipeline.addHandler(methods)
            try pipeline.addHandler(HitResponder(proxy, phase))
            let connection = try NIOAsyncChannel<HTTPServerRequestPart, ResponsePiece>(
                wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
            return Value(connection: connection, phase: phase, presence: presence)
        }
    }

    func handle(value: Value, logger: Logger) async {
        try? await value.connection.executeThenClose { inbound, outbound in
            let connection = ProxyConnection(
                proxy: proxy, channel: value.channel, phase: value.phase, presence: value.presence, outbound: outbound)
            // Not on the event loop: it reads and writes files.
            await connection.run(inbound)
        }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
#endif
