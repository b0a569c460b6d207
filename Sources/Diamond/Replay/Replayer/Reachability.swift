import DiamondSQLite
import Foundation

#if canImport(Network)
import Network
#endif

/// Knows whether the network is there: an attempt that fails while it is not costs a job nothing.
public protocol Reachability: Sendable {
    /// Whether anything may be reached. Asked after a failure; answer at once.
    var isReachable: Bool { get }
}

/// What the system says: on Apple platforms the Network framework, on Linux whether there is a route to anywhere.
public final class SystemReachability: Reachability {
    static let shared = SystemReachability()

    #if canImport(Network)
    private let monitor = NWPathMonitor()

    public init() { monitor.start(queue: DispatchQueue(label: "diamond.reachability", qos: .utility)) }

    deinit { monitor.cancel() }

    public var isReachable: Bool { monitor.currentPath.status != .unsatisfied }
    #else
    public init() {}

    // Of the kernel's tables: a line for each route, behind a title in that of version 4.
    public var isReachable: Bool {
        let routes = Self.lines(of: "/proc/net/route").dropFirst() + Self.lines(of: "/proc/net/ipv6_route")
        // Where nobody says, nobody says no.
        return routes.isEmpty
            ? !FileManager.default.fileExists(atPath: "/proc/net/route") : routes.contains(where: Self.leads)
    }

    /// Whether a route leads out of this machine.
    private static func leads(_ line: Substring) -> Bool {
        let fields = line.split(whereSeparator: \.isWhitespace)
        // Version 4 begins with the interface, version 6 ends with it.
        return fields.first != "lo" && fields.last != "lo"
    }

    private static func lines(of file: String) -> [Substring] {
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { return [] }
        return text.split(separator: "\n")
    }
    #endif
}
