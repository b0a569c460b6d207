import DiamondSQLite
import Foundation

/// The tasks that take connections to their responses, one after another: as many as there are places on the wire, and
/// some for what is answered without one. A task for each connection would cost more than the connection.
final class Crew: Sendable {
    private struct State {
        var ready = MostUrgentFirst<Connection>()
        /// What has got its place; it goes first.
        var resumed = FirstInFirstOut<Connection>()
        var runners = 0
        /// Runners that are about to take a connection.
        var free = 0
        /// Runners that are kept waiting by others than the wire.
        var aside = 0

        var waiting: Int { resumed.count + ready.count }

        mutating func next() -> Connection? { resumed.popFirst() ?? ready.popFirst() }
    }

    /// Beside those on the wire.
    private static let lookups = 8

    private let state = Guarded(State())
    let lanes: Lanes

    init(lanes: Lanes) { self.lanes = lanes }

    /// Runs a connection soon.
    ///
    /// - Parameter isResumed: whether it has been run before, and has its place now.
    func add(_ connection: Connection, isResumed: Bool = false) {
        let priority = FlightPriority(connection.queuePriority)
        employ { state in
            if isResumed {
                state.resumed.append(connection)
            } else {
                state.ready.append(connection, priority)
            }
        }
    }

    /// A runner waits for a credential, or no longer: meanwhile another takes its turn, because what it waits for may
    /// be a connection of this engine.
    func step(aside isAside: Bool) { employ { $0.aside += isAside ? 1 : -1 } }

    private func employ(_ body: (inout State) -> Void) {
        let width = lanes.width
        let isNeeded = state.withLock { state in
            body(&state)
            // Taken off the left, because any number may be the width.
            guard state.waiting > state.free, state.runners - state.aside - Self.lookups < width else { return false }
            state.runners += 1
            state.free += 1
            return true
        }
        if isNeeded { begin() }
    }

    private func begin() {
        let runner = Runner(self)
        runner.begin { [self] in
            while !runner.isSpent, let connection = next() { await connection.run(by: runner) }
            // The task of one that was canceled runs no other.
            if runner.isSpent { replace() }
        }
    }

    private func next() -> Connection? {
        state.withLock { state in
            let next = state.next()
            state.free -= 1
            if next == nil { state.runners -= 1 }
            return next
        }
    }

    private func replace() {
        employ { state in
            state.runners -= 1
            state.free -= 1
        }
    }

    /// A runner has done with its connection.
    func setFree() { state.withLock { $0.free += 1 } }
}
