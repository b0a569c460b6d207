#if Tools
import Diamond
import Foundation
import HTTPTypes
import HummingbirdCore
import Logging
import NIOConcurrencyHelpers
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
    let clients: ClientCount
    let expectations = OriginExpectations()
    let budget = WriteBudget()

    /// The maximum size of a request's head, in bytes.
    static let headLimit = 64 << 10
    /// The maximum number of a request's fields.
    static let fieldLimit = 256

    /// Returns the request that the engine forwards.
    func request(_ request: ProxyRequest) -> Diamond.Request {
        var forwarded = Diamond.Request(
            forwarding: request.method, origin: site.origin, target: request.target, headers: request.fields)
        if request.expectsContinue, request.method != .head, expectations.areForwarded(to: request.target) {
            forwarded.headers[.expect] = "100-continue"
        }
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
                availableConnectionsDelegate: MaximumAvailableConnections(clients.maximum + ClientCount.surplus)),
            onServerRunning: { channel in
                let port = channel.localAddress?.port ?? address.port
                site.note(port: port)
                whenListening(port)
            },
            eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
            logger: logger)
    }
}

/// Sets up and serves the connections of clients.
struct ProxyChannel: ServerChildChannel {
    struct Value: ServerChildChannelValue {
        let connection: NIOAsyncChannel<RequestPart, ResponsePiece>
        let phase: ConnectionPhase
        let presence: ClientPresence
        let peer: ProxyPeer
        var channel: any Channel { connection.channel }
    }

    let proxy: ReverseProxy

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            let phase = ConnectionPhase()
            let presence = ClientPresence()
            let peer = ProxyPeer(channel, isSurplus: proxy.clients.add(channel))
            let methods = RequestMethods()
            var sizes = NIOHTTPDecoderLimitConfiguration()
            sizes.maxHeaderFieldSize = ReverseProxy.headLimit
            sizes.maxHeaderListSize = ReverseProxy.headLimit
            sizes.maxHeaderFieldCount = ReverseProxy.fieldLimit
            try channel.syncOptions?.setOption(.tcpOption(.tcp_nodelay), value: 1)
            let pipeline = channel.pipeline.syncOperations
            try pipeline.addHandler(limits(phase: phase, presence: presence, peer: peer))
            try pipeline.addHandler(RequestHeadPreparer(methods, limit: ReverseProxy.headLimit))
            try pipeline.addHandler(ByteToMessageHandler(HTTPRequestDecoder(limitConfiguration: sizes)))
            try pipeline.addHandler(methods)
            try pipeline.addHandler(HitResponder(proxy, phase, peer))
            let connection = try NIOAsyncChannel<RequestPart, ResponsePiece>(
                wrappingChannelSynchronously: channel,
                configuration: .init(
                    // The elements of a body have up to 64 KiB each.
                    backPressureStrategy: .init(lowWatermark: 1, highWatermark: 2), isOutboundHalfClosureEnabled: true))
            return Value(connection: connection, phase: phase, presence: presence, peer: peer)
        }
    }

    // A connection beyond the maximum gets little time: others wait until it is closed.
    private func limits(phase: ConnectionPhase, presence: ClientPresence, peer: ProxyPeer) -> ClientLimits {
        let limit = TimeAmount.nanoseconds(proxy.clientTimeout.nanoseconds)
        guard peer.isSurplus else { return ClientLimits(phase, presence, limit: limit) }
        return ClientLimits(phase, presence, limit: min(limit, .seconds(2)), idleTime: .seconds(2))
    }

    func handle(value: Value, logger: Logger) async {
        try? await value.connection.executeThenClose { inbound, outbound in
            let connection = ProxyConnection(value, proxy: proxy, outbound: outbound)
            // Not on the event loop: it reads and writes files.
            await connection.run(inbound)
        }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return min(seconds, 1_000_000_000) * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}

/// The client at the other end of a connection.
struct ProxyPeer: Sendable {
    /// The IP address.
    let address: String
    /// Whether the connection is beyond the maximum number of clients.
    let isSurplus: Bool

    init(_ channel: any Channel, isSurplus: Bool) {
        let address = channel.remoteAddress?.ipAddress ?? "unknown"
        // A socket for both versions of IP names an address of IPv4 in this way.
        let mapped = address.hasPrefix("::ffff:") && address.contains(".")
        self.address = mapped ? String(address.dropFirst(7)) : address
        self.isSurplus = isSurplus
    }
}

/// The paths for which the origin refuses `Expect: 100-continue`, by its answers so far (RFC 9110 section 10.1.1): the
/// last thousand.
final class OriginExpectations: Sendable {
    private static let limit = 1000

    /// Hash values, because paths may be long.
    private let refused = NIOLockedValueBox([Int]())

    /// Whether the field is forwarded in a request for a target.
    func areForwarded(to target: String) -> Bool {
        refused.withLockedValue { !$0.contains(Self.path(of: target)) }
    }

    func noteRefusal(of target: String) {
        let path = Self.path(of: target)
        refused.withLockedValue { refused in
            guard !refused.contains(path) else { return }
            if refused.count == Self.limit { refused.removeFirst() }
            refused.append(path)
        }
    }

    private static func path(of target: String) -> Int { target.prefix { $0 != "?" }.hashValue }
}
#endif
