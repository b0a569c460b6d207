import DiamondSQLite
import Foundation

#if canImport(Network)
import Network
#endif

/// The reachability that the system reports. On Apple platforms, the Network framework reports it. On Linux, a route
/// out of the machine means reachable.
public final class SystemReachability: Reachability {
    static let shared = SystemReachability()

    fileprivate struct State {
        var listeners = Listeners<AsyncStream<Void>.Continuation>()
        #if canImport(Network)
        // The monitor itself says no until it has looked.
        var isReachable = true
        #else
        /// The watch of routes; `nil` while there is no listener.
        var watch: RouteWatch?
        #endif
    }

    private let state = Guarded(State())

    #if canImport(Network)
    private let monitor = NWPathMonitor()

    /// Starts to monitor the network path.
    public init() {
        monitor.pathUpdateHandler = { [state] path in
            state.withLock { $0.isReachable = path.status != .unsatisfied }
            Self.tell(state)
        }
        monitor.start(queue: DispatchQueue(label: "diamond.reachability", qos: .utility))
    }

    deinit { monitor.cancel() }

    public var isReachable: Bool { state.withLock { $0.isReachable } }
    #else
    /// Creates an instance that reads the kernel's routing tables on demand.
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

    /// The changes reported by `NWPathMonitor`, or by the kernel's notes of changed routes (rtnetlink).
    public var changes: AsyncStream<Void> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let number = state.withLock { state in
                #if !canImport(Network)
                // Until the last listener goes.
                if state.watch == nil { state.watch = RouteWatch { [state = self.state] in Self.tell(state) } }
                #endif
                return state.listeners.add(continuation)
            }
            continuation.onTermination = { [state] _ in _ = state.withLock { $0.remove(number) } }
        }
    }

    /// Tells all listeners that reachability may have changed.
    func tell() { Self.tell(state) }

    private static func tell(_ state: Guarded<State>) {
        for listener in state.withLock({ $0.listeners.all }) { listener.yield() }
    }
}

extension SystemReachability.State {
    fileprivate mutating func remove(_ number: Int) -> AsyncStream<Void>.Continuation? {
        let removed = listeners.remove(number)
        #if !canImport(Network)
        if listeners.isEmpty { watch = nil }
        #endif
        return removed
    }
}
