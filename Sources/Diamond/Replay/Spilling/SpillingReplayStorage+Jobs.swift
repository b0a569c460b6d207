import DiamondSQLite
package import Foundation

/// The jobs under their ids. Those of spilled ones are negative.
extension SpillingReplayStorage {
    /// Calls a body with the storage and the id of a job.
    private func find<Value>(
        _ id: ReplayJob.ID, _ body: (any ReplayStorage, ReplayJob.ID) throws(ReplayError) -> Value
    ) throws(ReplayError) -> Value {
        guard id < 0 else { return try body(remote, id) }
        if let moved = state.withLock({ $0.moved[-id] }) { return try body(remote, moved) }
        return try body(local, -id)
    }

    package func job(_ id: ReplayJob.ID) throws(ReplayError) -> ReplayJob? {
        var job = try find(id) { (storage, own) throws(ReplayError) in try storage.job(own) }
        job?.id = id
        return job
    }

    package func request(of id: ReplayJob.ID) throws(ReplayError) -> Data? {
        try find(id) { (storage, own) throws(ReplayError) in try storage.request(of: own) }
    }

    package func failures(of id: ReplayJob.ID) throws(ReplayError) -> [ReplayFailure] {
        try find(id) { (storage, own) throws(ReplayError) in try storage.failures(of: own) }
    }

    package func answer(to id: ReplayJob.ID) throws(ReplayError) -> ReplayStoredAnswer? {
        try find(id) { (storage, own) throws(ReplayError) in try storage.answer(to: own) }
    }

    /// Applies an action to each job, in one transaction for the spilled ones, and in one for the others.
    package func apply(
        _ action: ReplayAction, to ids: [ReplayJob.ID], isDryRun: Bool
    ) async throws(ReplayError) -> [ReplayEffect] {
        guard ids.contains(where: { $0 < 0 }) else {
            return try await remote.apply(action, to: ids, isDryRun: isDryRun)
        }
        return try await changes.run { () throws(ReplayError) in
            let moved = state.withLock { $0.moved }
            let spilled = ids.filter { $0 < 0 && moved[-$0] == nil }
            let others = ids.filter { $0 >= 0 || moved[-$0] != nil }
            let own = spilled.map { -$0 }, remoteIDs = others.map { moved[-$0] ?? $0 }
            var effects: [ReplayJob.ID: ReplayEffect] = [:]
            if !own.isEmpty {
                try takeDirectory()
                let results = try await local.apply(action, to: own, isDryRun: isDryRun)
                effects.merge(zip(spilled, results)) { $1 }
                if !isDryRun, action != .discard, action != .hold { spillAgain() }
            }
            if !remoteIDs.isEmpty {
                let results = try await remote.apply(action, to: remoteIDs, isDryRun: isDryRun)
                effects.merge(zip(others, results)) { $1 }
            }
            return ids.map { effects[$0] ?? .noJob }
        }
    }

    package func edit(_ edit: ReplayEdit) async throws(ReplayError) -> ReplayJob.ID {
        guard edit.id < 0 else { return try await remote.edit(edit) }
        return try await changes.run { () throws(ReplayError) in
            if let id = state.withLock({ $0.moved[-edit.id] }) { return try await remote.edit(edit.of(id)) }
            try takeDirectory()
            let id = try await local.edit(edit.of(-edit.id))
            spillAgain()
            return -id
        }
    }

    /// Moves local jobs that had stayed.
    private func spillAgain() {
        state.withLock { $0.isSpilling = true }
        startMoving()
    }
}

extension ReplayEdit {
    /// Returns the edit for the same job under its id in another storage.
    fileprivate func of(_ id: ReplayJob.ID) -> Self {
        ReplayEdit(id: id, draft: draft, maximumCount: maximumCount, old: old, rules: rules)
    }
}
