import Diamond

/// The time at which a change becomes visible to the app.
public enum SaveMode: Hashable, Sendable {
    /// Immediately. The change is rolled back if the server does not confirm it.
    case optimistic
    /// After the server has confirmed the change.
    case wait
    /// Immediately. The call is written to disk before it is sent, and survives the end of the program. If it cannot be
    /// sent now, a replayer sends it later. See <doc:Queueing>.
    case queued
    /// Queues the save like `queued`, but the call returns as soon as the save is on disk. `collectSaves(of:)` of the
    /// context reports the answer, also a refusal.
    case queuedInBackground

    var isQueued: Bool { self == .queued || self == .queuedInBackground }
}

/// The call that saves an object.
public enum SaveMethod: Hashable, Sendable {
    /// POST for a new object. Otherwise PATCH with the values that were set since the last sync.
    case automatic
    /// POST, also for an object whose id was chosen by the app.
    case create
    /// PATCH with the values that were set since the last sync.
    case update
    /// PUT of the whole object.
    case replace

    func call(isNew: Bool) -> ModelCall {
        switch self {
        case .automatic: isNew ? .create : .update
        case .create: .create
        case .update: .update
        case .replace: .replace
        }
    }
}

extension ModelObject where Self: Model {
    /// Makes changes and saves the object.
    ///
    /// A failed save restores the earlier values of the object and its nested objects: those that the server has
    /// confirmed, or that were not saved yet. Values that were set in the meantime stay. The saves of an object run one
    /// after another. Values that are set during a save stay, and the next save sends them. If nothing has changed,
    /// nothing is sent. While calls of an object wait in the queue, all its saves are queued. So are those that refer to a
    /// new object that the queue has to create first, and those of a new object to which queued calls refer.
    ///
    /// New members of nested collections get the ids of their elements in the response. A sent member without an
    /// element in the response is removed.
    ///
    /// - Parameters:
    ///   - mode: The time at which the changes become visible.
    ///   - method: The call. By default POST for a new object, otherwise PATCH with the changes.
    ///   - change: The changes to make. None by default, which saves earlier changes.
    /// - Throws: ``ModelError``: `invalid` for values that break rules, without sending; `noEngine`, `noContext`,
    ///   `noResource`; `otherIdentity`, without sending, if the context's objects belong to another identity than the
    ///   one that is signed in; `missingID`, without sending, if the request refers to a new object that no queued call
    ///   creates, and if the server has created the object and reports no id; `otherObject`. The
    ///   `ConnectionError` of the call. `CancellationError`. `invalid` or `duplicateID` if the object cannot take over
    ///   the values of the response; then the save is not rolled back, because the server has confirmed it.
    public nonisolated(nonsending) func save(
        _ mode: SaveMode = .optimistic, as method: SaveMethod = .automatic, change: ((Self) -> Void)? = nil
    ) async throws {
        let waits = mode == .wait && !hasQueuedSaves
        var visible = waits ? nil : change.map { makeVisible($0) }
        defer { if let visible { syncing.end(visible) } }
        var isConfirmed = false
        do {
            try visible?.check()
            let lock = syncing.lock
            try await lock.acquire()
            await context?.prepareSave(of: type(of: self))
            if mode.isQueued || hasQueuedSaves || isAwaitedByOthers {
                // Calls may have been queued during the wait. Then the change is visible from now on.
                if waits { visible = change.map { makeVisible($0) } }
                return try await queueSave(mode, as: method, of: visible, releasing: lock)
            }
            var isLocked = true
            defer { if isLocked { lock.release() } }
            let subject = waits && change != nil ? copy() : self
            let originals = Originals(of: subject, self)
            if waits, let change { try VisibleChange(of: subject, change).check() }
            guard let save = try PendingSave(of: subject, for: self, as: method, originals: originals) else { return }
            defer { save.end() }
            if try mustQueue(save) {
                if waits { visible = change.map { makeVisible($0) } }
                isLocked = false
                return try await queueSave(mode, as: method, of: visible, releasing: lock)
            }
            try await checkIdentity()
            try save.finish(try await save.send(), on: self) { isConfirmed = true }
            // If this fails, the next collection of answers does it.
            try? await assignID()
        } catch {
            if !isConfirmed { visible?.rollBack(self) }
            throw error
        }
    }

    private func makeVisible(_ change: (Self) -> Void) -> VisibleChange {
        let visible = VisibleChange(of: self, change)
        syncing.changes.append(visible)
        return visible
    }
}
