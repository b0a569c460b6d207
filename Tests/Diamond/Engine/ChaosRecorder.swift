import DiamondSQLite
import DiamondTestSupport
import Foundation
import HTTPTypes

@testable import Diamond

/// Records how the connections ended, each by its number.
final class ChaosRecorder: Sendable {
    /// The number of ends of one connection, by each kind of observer.
    private struct Ends {
        /// In its callback.
        var results: [ConnectionState.Ending] = []
        /// In its sequences of states that have ended.
        var states: [ConnectionState.Ending]?
        var completions = 0
        /// Operations of another queue that depend on it.
        var dependents = 0

        var isThere: Bool { !results.isEmpty && states != nil && completions > 0 && dependents > 0 }
        var isOnce: Bool { results.count == 1 && states == results && completions == 1 && dependents == 1 }
    }

    private struct WeakObjects: Sendable {
        weak var connection: Connection?
    }

    private struct State {
        var ends: [Int: Ends] = [:]
        var whole = 0
        var mistakes: [String] = []
        var witnesses: [WeakObjects] = []
        var once: [ChaosPlan] = []
    }

    private let state = Guarded(State())
    private let queue = OperationQueue()

    /// Whole responses.
    var whole: Int { state.withLock { $0.whole } }
    var mistakes: [String] { state.withLock { $0.mistakes } }
    /// Connections that should be freed, and still exist.
    var alive: Int { state.withLock { $0.witnesses.count { $0.connection != nil } } }

    /// Whether each of a number of connections has ended for all observers.
    func hasEnded(_ count: Int) -> Bool {
        state.withLock { state in state.ends.count == count && state.ends.values.allSatisfy(\.isThere) }
    }

    /// The connections that have not ended once, and in one way, for all observers.
    var oddities: [String] {
        state.withLock { state in state.ends.filter { !$0.value.isOnce }.map { "\($0.key): \($0.value)" } }
    }

    /// The plans that may be sent once at most, and were sent more often.
    func repetitions(at server: ChaosServer) -> [ChaosPlan] {
        state.withLock { $0.once }.filter { plan in
            let target = plan.target
            return server.arrivals(by: "POST", target.behavior, target.number, size: target.size) > 1
        }
    }

    /// Observes a connection before it is started.
    func watch(_ connection: Connection, _ plan: ChaosPlan) {
        state.withLock { state in
            state.ends[plan.number] = Ends()
            state.witnesses.append(WeakObjects(connection: connection))
            if plan.isOnce { state.once.append(plan) }
        }
        connection.onResult { [self] in end(plan, $0) }
        connection.completionBlock = { [self] in change(plan) { $0.completions += 1 } }
        watch(connection.states, plan)
        let dependent = BlockOperation { [self] in change(plan) { $0.dependents += 1 } }
        dependent.addDependency(connection)
        queue.addOperation(dependent)
    }

    private func watch(_ states: AsyncStream<ConnectionState>, _ plan: ChaosPlan) {
        Task {
            var endings: [ConnectionState.Ending] = []
            for await case .finished(let ending) in states { endings.append(ending) }
            change(plan) { [endings] in $0.states = endings }
        }
    }

    private func end(_ plan: ChaosPlan, _ result: Result<Response, ConnectionError>) {
        let mistake = plan.mistake(in: result)
        change(plan) { $0.results.append(result.ending) }
        state.withLock { state in
            if case .success(let response) = result, response.status == .ok { state.whole += 1 }
            if let mistake { state.mistakes.append(mistake) }
        }
    }

    private func change(_ plan: ChaosPlan, _ body: (inout Ends) -> Void) {
        state.withLock { body(&$0.ends[plan.number, default: Ends()]) }
    }
}
