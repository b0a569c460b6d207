#if os(Linux) && Postgres && canImport(CDiamondPostgres)
import DiamondTestSupport
import Foundation

/// Hosts in network namespaces of their own, which a bridge joins with this machine.
final class NetworkHosts: Sendable {
    /// The address of this machine for the hosts.
    let gateway: String
    private let bridge: String
    private let names: [String]

    private static let program = URL(filePath: "/usr/bin/env")

    /// Whether this process may create hosts.
    static let arePossible: @Sendable () async throws -> Bool = {
        guard let hosts = try? await NetworkHosts(count: 1) else { return false }
        await hosts.close()
        return true
    }

    /// Creates hosts. End them with ``close()``.
    init(count: Int) async throws {
        let number = Int(ProcessInfo.processInfo.processIdentifier) % 60_000
        let network = "10.\(100 + number / 250).\(number % 250)"
        bridge = "dmd\(number)"
        gateway = network + ".1"
        names = (0..<count).map { [bridge] in "\(bridge)h\($0)" }
        try await Self.run(
            """
            ip link add \(bridge) type bridge && ip addr add \(gateway)/24 dev \(bridge) && ip link set \(bridge) up
            """)
        for (index, name) in names.enumerated() {
            try await Self.run(
                """
                ip netns add \(name) && ip link add \(name) type veth peer name eth0 netns \(name) &&
                ip link set \(name) master \(bridge) up &&
                ip -n \(name) addr add \(network).\(index + 2)/24 dev eth0 &&
                ip -n \(name) link set eth0 up && ip -n \(name) link set lo up &&
                ip -n \(name) route add default via \(gateway)
                """)
        }
    }

    private static func run(_ script: String) async throws {
        let process = try ChildProcess(program, ["sh", "-ec", "PATH=$PATH:/sbin:/usr/sbin; \(script)"], errors: .null)
        let ending = await process.ended()
        guard ending == .exited(0) else { throw ChildProcess.Failure(description: "\(script): \(ending)") }
    }

    /// Ends all hosts. Their processes lose their networks.
    func close() async {
        for name in names { try? await Self.run("ip netns del \(name)") }
        try? await Self.run("ip link del \(bridge)")
    }

    /// Starts a process on a host.
    func start(
        _ executable: URL, _ arguments: [String], on host: Int, environment: [String: String], output: Pipe
    ) throws -> ChildProcess {
        var environment = environment
        environment["PATH", default: "/bin:/usr/bin"] += ":/sbin:/usr/sbin"
        return try ChildProcess(
            Self.program, ["ip", "netns", "exec", names[host], executable.path] + arguments, environment: environment,
            output: .pipe(output))
    }

    /// Cuts the link of a host. Nothing tells either side.
    func cut(_ host: Int) async throws { try await Self.run("ip link set \(names[host]) nomaster") }

    /// Joins a host that was cut with the others again.
    func join(_ host: Int) async throws { try await Self.run("ip link set \(names[host]) master \(bridge)") }
}
#endif
