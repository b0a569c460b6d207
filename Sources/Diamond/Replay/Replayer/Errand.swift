import DiamondSQLite

/// A claimed job on its way to the wire, until where it can be called back.
final class Errand: Sendable {
    private struct State {
        /// Exchanges.
        var begun = 0
        /// Those of which it is being written down that they begin.
        var beginning = 0
        var isRecalled = false
        var task: Task<Replayer.Sent, Never>?
    }

    let lane: Lane
    private let state = Guarded(State())

    init(_ lane: Lane) { self.lane = lane }

    var begun: Int { state.withLock { $0.begun } }
    var isRecalled: Bool { state.withLock { $0.isRecalled } }

    func run(_ send: @escaping @Sendable () async -> Replayer.Sent) async -> Replayer.Sent {
        let task = Task { await send() }
        let isRecalled = state.withLock { state in
            state.task = task
            return state.isRecalled
        }
        if isRecalled { task.cancel() }
        // What it has brought knows the errand.
        defer { state.withLock { $0.task = nil } }
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Begins an exchange where that can be written down and nobody has called it back.
    ///
    /// - Parameter write: is told whether one has begun before: it follows a redirect, or asks once more with a newer
    ///   credential.
    func begin(_ write: (_ isUnderWay: Bool) async -> Bool) async -> Bool {
        let isUnderWay = state.withLock { state -> Bool? in
            guard !state.isRecalled else { return nil }
            state.beginning += 1
            return state.begun > 0
        }
        guard let isUnderWay else { return false }
        let hasBegun = await write(isUnderWay)
        state.withLock { state in
            state.beginning -= 1
            if hasBegun { state.begun += 1 }
        }
        return hasBegun
    }

    /// Ends it where nothing of it has begun.
    func recall() {
        let task = state.withLock { state -> Task<Replayer.Sent, Never>? in
            guard state.begun + state.beginning == 0 else { return nil }
            state.isRecalled = true
            return state.task
        }
        task?.cancel()
    }
}
