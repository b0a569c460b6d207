#if Valkey
import DiamondTestSupport
import DiamondSQLite
import NIOCore
import NIOPosix

@testable import DiamondValkey

/// The events of a client in a test.
final class ValkeyEvents: Sendable {
    private struct State {
        var connections = 0
        var losses: [ValkeyError] = []
        var changed: [[String]?] = []
        var announced: [String] = []
    }

    private let state = Guarded(State())

    var connections: Int { state.withLock { $0.connections } }
    var losses: [ValkeyError] { state.withLock { $0.losses } }
    var changed: [[String]?] { state.withLock { $0.changed } }
    var announced: [String] { state.withLock { $0.announced } }

    func receive(_ event: ValkeyEvent) {
        state.withLock { state in
            switch event {
            case .connected: state.connections += 1
            case .lost(let error): state.losses.append(error)
            case .changed(let keys): state.changed.append(keys)
            case .announced(let bytes): state.announced.append(String(buffer: bytes))
            case .time: break
            }
        }
    }

    /// Connects a client, whose events these are.
    func client(
        _ url: String, timing: ValkeyTiming = .patient, draw: @escaping @Sendable () -> Double = { 0 }
    ) throws -> ValkeyClient {
        try ValkeyClient(
            ValkeyAddress(url), channel: "test:changes", group: MultiThreadedEventLoopGroup.singleton, timing: timing,
            draw: draw, onEvent: receive)
    }
}

extension ValkeyTiming {
    /// Times that a busy machine keeps.
    static var patient: ValkeyTiming {
        var timing = ValkeyTiming()
        timing.lookup = .seconds(20)
        timing.transfer = .seconds(20)
        timing.connecting = .seconds(20)
        timing.silence = .seconds(20)
        return timing
    }
}

extension ValkeyWrite {
    init(_ key: String, _ value: String?) { self.init(key: key, value: value.map { ByteBuffer(string: $0) }) }
}
#endif
