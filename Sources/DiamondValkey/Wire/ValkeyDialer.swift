#if Valkey
import NIOCore
import NIOPosix
import NIOSSL

/// Makes connections to an address: TCP or a Unix socket, TLS, and the first commands.
struct ValkeyDialer: Sendable {
    let address: ValkeyAddress
    let group: any EventLoopGroup
    /// The name of the connection in `CLIENT LIST`.
    let clientName: String
    /// The channel of announcements, if the server tells which of the keys that were read over the connection have
    /// changed; `nil` for a connection that is told nothing.
    let channel: String?
    let timeout: Duration
    private let tls: NIOSSLContext?

    /// - Throws: `badAddress` if the certificates cannot be read.
    init(
        _ address: ValkeyAddress,
        group: any EventLoopGroup,
        clientName: String,
        channel: String?,
        timeout: Duration
    ) throws(ValkeyError) {
        self.address = address
        self.group = group
        self.clientName = clientName
        self.channel = channel
        self.timeout = timeout
        tls = address.usesTLS ? try Self.context(trusting: address.certificates) : nil
    }

    private static func context(trusting certificates: String?) throws(ValkeyError) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        if let certificates { configuration.trustRoots = .file(certificates) }
        do { return try NIOSSLContext(configuration: configuration) } catch {
            throw ValkeyError(.badAddress, "the certificates in the address of the cache's server cannot be read")
        }
    }

    /// Connects, with a handler at the end of the channel.
    func dial(_ handler: ValkeyHandler, on eventLoop: any EventLoop) -> EventLoopFuture<any Channel> {
        let bound = NIOLoopBound(handler, eventLoop: eventLoop)
        let bootstrap = ClientBootstrap(group: eventLoop)
            .connectTimeout(timeout.amount)
            .channelOption(.socketOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls { try channel.pipeline.syncOperations.addHandler(tlsHandler(tls)) }
                    try channel.pipeline.syncOperations.addHandler(bound.value)
                }
            }
        switch address.target {
        case .tcp(let host, let port): return bootstrap.connect(host: host, port: port)
        case .unix(let path): return bootstrap.connect(unixDomainSocketPath: path)
        }
    }

    private func tlsHandler(_ context: NIOSSLContext) throws -> NIOSSLClientHandler {
        guard case .tcp(let host, _) = address.target else {
            return try NIOSSLClientHandler(context: context, serverHostname: nil)
        }
        // The name of a server is no address (RFC 6066 section 3). The certificate is still compared with the address.
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        return try NIOSSLClientHandler(context: context, serverHostname: isAddress ? nil : host)
    }

    // MARK: The first commands

    /// The first commands of a connection.
    var greeting: [RESPCommand] {
        var hello = ["3"]
        if let password = address.password { hello += ["AUTH", address.user ?? "default", password] }
        hello += ["SETNAME", clientName]
        var command = RESPCommand("HELLO", argumentCount: hello.count)
        for argument in hello { command.add(argument) }
        var commands = [command]
        if address.database > 0 { commands.append(RESPCommand("SELECT", String(address.database))) }
        // The default mode: the server pushes only the keys that this process has read, not every write of the fleet.
        // The pushes come over the connection that reads, so that none overtakes the reply with the older value.
        if let channel {
            commands.append(RESPCommand("CLIENT", "TRACKING", "ON", "NOLOOP"))
            commands.append(RESPCommand("SUBSCRIBE", channel))
        }
        commands.append(.time)
        return commands
    }

    /// Returns the server's time, if it has accepted the first commands, and is one that can be used.
    func verdict(on replies: [RESPValue]) -> Result<Int64, ValkeyError> {
        for (reply, command) in zip(replies, greeting) {
            guard case .error(let refusal) = reply else { continue }
            return .failure(Self.error(refusal, command: command.name))
        }
        guard case .map(let facts)? = replies.first else {
            return .failure(ValkeyError(.badAnswer, "the cache's server does not speak RESP3: it needs version 6"))
        }
        let modes = Dictionary(stride(from: 0, to: facts.count - 1, by: 2).map { (facts[$0].text, facts[$0 + 1].text) })
        {
            $1
        }
        if modes["mode"] == "cluster" {
            return .failure(ValkeyError(.refused, "the cache's server is part of a cluster, which needs another wire"))
        }
        if modes["role"] != "master" {
            return .failure(ValkeyError(.refused, "the cache's server is a replica: use the address of the primary"))
        }
        guard let time = replies.last?.serverTime else {
            return .failure(ValkeyError(.badAnswer, "the cache's server does not tell its time"))
        }
        return .success(time)
    }

    private static func error(_ refusal: RESPRefusal, command: String) -> ValkeyError {
        switch refusal.code {
        case "WRONGPASS", "NOAUTH", "NOPERM":
            ValkeyError(.refused, "the cache's server refused the user or the password of its address")
        case "ERR" where command == "HELLO", "NOPROTO":
            ValkeyError(.refused, "the cache's server does not speak RESP3: it needs Valkey, or Redis 6 or later")
        default: ValkeyError(refusal, command: command)
        }
    }
}

extension RESPCommand {
    static let time = RESPCommand("TIME")
}

extension RESPValue {
    /// The answer of `TIME` in microseconds since 1970; `nil` for other answers.
    var serverTime: Int64? {
        guard let items, items.count == 2, let seconds = items[0].text.flatMap({ Int64($0) }),
            let microseconds = items[1].text.flatMap({ Int64($0) }), (0..<1 << 40).contains(seconds)
        else { return nil }
        return seconds * 1_000_000 + microseconds
    }
}
#endif
