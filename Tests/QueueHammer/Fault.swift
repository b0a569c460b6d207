import DiamondSQLite
import Foundation

/// The place where this process ends, which `DIAMOND_FAULT` names: `after-send:3` at the third time.
final class Fault: Sendable {
    private let name: String?
    private let left: Guarded<Int>
    private let stops = ProcessInfo.processInfo.environment["DIAMOND_FAULT_STOPS"] != nil

    init() {
        let parts = (ProcessInfo.processInfo.environment["DIAMOND_FAULT"] ?? "").split(separator: ":")
        name = parts.first.map(String.init)
        left = Guarded(parts.last.flatMap { Int($0) } ?? 0)
    }

    var isNone: Bool { name == nil }

    func pass(_ point: String) {
        guard point == name else { return }
        let isHere = left.withLock { left in
            left -= 1
            return left == 0
        }
        // Not `_exit`: a sanitizer makes that one wait for a second, in which the other threads do all that is left.
        if isHere { if stops { raise(SIGSTOP) } else { kill(getpid(), SIGKILL) } }
    }
}
