import DiamondSQLite

/// The move of spilled jobs to the server.
extension SpillingReplayStorage {
    /// Additions wait when at most this many jobs were added during a move.
    private static let lastCount = 100
    /// The longest time for which an addition waits.
    private static let lastTime = Duration.seconds(1)

    func startMoving() {
        state.withLock { state in
            guard state.drain == nil else { return }
            // Detached, so that it has no task-local values of a caller.
            state.drain = Task.detached { [weak self, pause, clock] in
                while await self?.hasMovedAll() == false {
                    guard (try? await clock.sleep(for: pause)) != nil else { return }
                }
                // No replayer does it for a process that only adds jobs.
                try? await self?.local.maintain(ReplayRetention())
            }
        }
    }

    /// Moves the spilled jobs to the server. Under steady additions, the last ones are moved while new ones wait.
    ///
    /// - Returns: whether no job spills any more.
    private func hasMovedAll() async -> Bool {
        var count = Int.max
        while count > Self.lastCount, !Task.isCancelled {
            let (adding, added) = state.withLock { ($0.adding, $0.added) }
            guard let moved = await move() else { return false }
            // An addition that was under way meanwhile may have come after the search for jobs.
            if endSpill(if: { adding == 0 && $0.adding == 0 && $0.added == added }) { return true }
            count = moved
        }
        // A move that was canceled may not have ended yet.
        state.withLock { $0.waiting = $0.waiting ?? [] }
        let timer = TimeLimit(Self.lastTime, by: clock).start { [self] in endWaits() }
        defer {
            timer.cancel()
            endWaits()
        }
        while state.withLock({ $0.adding > 0 && $0.waiting != nil }), !Task.isCancelled { await isAdded.wait() }
        guard state.withLock({ $0.adding == 0 }), await move() != nil else { return false }
        return endSpill { $0.adding == 0 && $0.waiting != nil }
    }

    /// Moves the jobs that are there now.
    ///
    /// - Returns: the number of moved jobs; `nil` if not all could be moved.
    private func move() async -> Int? {
        var move = ReplayMove(from: local, to: remote, maximumCount: .max, includesHeld: false) { [weak self] note in
            self?.state.withLock { $0.notes.contains(note) } ?? false
        }
        do throws(ReplayError) {
            move.end = try local.lastID()
            let result = try await changes.run { [move] () throws(ReplayError) in try await move.run() }
            for refusal in move.refusals(in: result) { report(refusal) }
            state.withLock { state in
                if state.moved.count > 100_000 { state.moved = [:] }
                state.moved.merge(result.moved) { $1 }
            }
            return result.moved.count
        } catch {
            noteFailure(error)
            return nil
        }
    }

    /// Reports the first error of each kind.
    private func noteFailure(_ error: ReplayError) {
        guard !Task.isCancelled, state.withLock({ $0.reported.insert(error.code).inserted }) else { return }
        let what = "the jobs in \(local.name) cannot be moved to \(remote.name)"
        report(ReplayError(error.code, "\(what): \(error.message)"))
    }

    private func endSpill(if condition: (Spill) -> Bool) -> Bool {
        state.withLock { state in
            guard condition(state) else { return false }
            state.isSpilling = false
            state.drain = nil
            state.reported = []
            return true
        }
    }

    /// Lets the waiting additions continue: to the server, or, if jobs still spill, to the local storage.
    private func endWaits() {
        let waiting = state.withLock { $0.waiting.take() } ?? []
        for wait in waiting { wait.fulfill(with: ()) }
        isAdded.wake()
    }
}
