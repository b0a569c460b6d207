import DiamondSQLite
import Foundation

#if canImport(Network)
import Network
#endif

/// A source of the network's reachability. An attempt that fails while the network is unreachable does not count.
public protocol Reachability: Sendable {
    /// Whether the network may be reached. It is read after a failure, and must return at once.
    var isReachable: Bool { get }

    /// A sequence with an element whenever reachability may have changed. Then the jobs that wait for the network are
    /// sent. Each call returns its own sequence. The default sequence is empty: jobs that wait for the network are
    /// tried again after a minute.
    var changes: AsyncStream<Void> { get }
}

extension Reachability {
    /// An empty sequence.
    public var changes: AsyncStream<Void> { AsyncStream { $0.finish() } }
}

/// The reachability that the system reports. On Apple platforms, the Network framework reports it. On Linux, the
/// network is reachable if a route leads out of the machine.
public final class SystemReachability: Reachability {
    static let shared = SystemReachability()

    private struct State {
        var listeners = Listeners<AsyncStream<Void>.Continuation>()
        #if canImport(Network)
        // The monitor itself reports `unsatisfied` until its first update.
        var isReachable = true
        #else
        /// The observer of routes; `nil` while there is no listener.
        var watch: RouteWatch?
        #endif

        mutating func remove(_ number: Int) -> AsyncStream<Void>.Continuation? {
            let removed = listeners.remove(number)
            #if !canImport(Network)
            if listeners.isEmpty { watch = nil }
            #endif
            return removed
        }
    }

    private let state = Guarded(State())

    #if canImport(Network)
    private let monitor = NWPathMonitor()

    deinit { monitor.cancel() }
    #endif

    /// Starts to monitor the network path on Apple platforms. On Linux, the kernel's routing tables are read on demand.
    public init() {
        #if canImport(Network)
        monitor.pathUpdateHandler = { [state] path in
            state.withLock { $0.isReachable = path.status != .unsatisfied }
            Self.notify(state)
        }
        monitor.start(queue: DispatchQueue(label: "diamond.reachability", qos: .utility))
        #endif
    }

    public var isReachable: Bool {
        #if canImport(Network)
        state.withLock { $0.isReachable }
        #else
        // The kernel's tables have a line for each route. The table of IPv4 begins with a title.
        let routes = Self.lines(of: "/proc/net/route").dropFirst() + Self.lines(of: "/proc/net/ipv6_route")
        // Without tables, assume that the network is reachable.
        return routes.isEmpty
            ? !FileManager.default.fileExists(atPath: "/proc/net/route") : routes.contains(where: Self.leads)
        #endif
    }

    #if !canImport(Network)
    /// Whether a route leads out of this machine.
    private static func leads(_ line: Substring) -> Bool {
        let fields = line.split(whereSeparator: \.isWhitespace)
        // A line of IPv4 begins with the interface, a line of IPv6 ends with it.
        return fields.first != "lo" && fields.last != "lo"
    }

    private static func lines(of file: String) -> [Substring] {
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { return [] }
        return text.split(separator: "\n")
    }
    #endif

    /// The changes that `NWPathMonitor`, or the kernel's notifications about routes (rtnetlink), report.
    public var changes: AsyncStream<Void> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let number = state.withLock { state in
                #if !canImport(Network)
                // The observer stays until the last listener is removed.
                if state.watch == nil { state.watch = RouteWatch { [state = self.state] in Self.notify(state) } }
                #endif
                return state.listeners.add(continuation)
            }
            continuation.onTermination = { [state] _ in _ = state.withLock { $0.remove(number) } }
        }
    }

    /// Notifies all listeners that reachability may have changed.
    func notify() { Self.notify(state) }

    private static func notify(_ state: Guarded<State>) {
        for listener in state.withLock({ $0.listeners.all }) { listener.yield() }
    }
}
