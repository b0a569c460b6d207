import Diamond

/// The time at which the app sees a change that the server has to confirm.
public enum SaveMode: Hashable, Sendable {
    /// The app sees it at once, and it is taken back where the server does not confirm it.
    case optimistic
    /// The app sees it when the server has confirmed it.
    case wait
    /// The app sees it at once. The call is on disk before it is sent, survives the end of the program, and is sent by a
    /// replayer where it cannot be sent now. See <doc:Queueing>.
    case queued
}

/// The call that saves an object.
public enum SaveMethod: Hashable, Sendable {
    /// POST for a new object, PATCH of what was set since the last sync for another.
    case automatic
    /// POST, also for an object whose id the app has chosen.
    case create
    /// PATCH of what was set since the last sync.
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
    /// A save that fails leaves the object and its nested objects as they were before the call, but for what was set
    /// meanwhile. The saves of an object follow one another. What is set while a save is under way stays, and is saved by
    /// the next. An object without anything to save sends nothing. While calls of an object wait in the queue, each of its
    /// saves is queued.
    ///
    /// - Parameters:
    ///   - mode: when the changes are seen.
    ///   - method: the call; by default POST for a new object, PATCH of what has changed for another.
    ///   - change: the changes to make; none by default, which saves what was set before.
    /// - Throws: ``ModelError``: `invalid` for values that break rules, without sending; `noEngine`, `noResource`;
    ///   `missingID` where the server has made the object and tells no id; `otherObject`. `ConnectionError` of the call.
    ///   `CancellationError`. An error of the answer's body is thrown behind a save that the server has confirmed.
    public nonisolated(nonsending) func save(
        _ mode: SaveMode = .optimistic, as method: SaveMethod = .automatic, change: ((Self) -> Void)? = nil
    ) async throws {
        let waits = mode == .wait && !hasQueuedSaves
        let before = change == nil ? nil : SaveState(of: self)
        if !waits, let change { transaction { change(self) } }
        let after = change == nil || waits ? nil : SaveState(of: self, after: before)
        var isConfirmed = false
        do {
            if let before, let after { try Self.check(after.newRejections(since: before)) }
            let lock = syncing.lock
            try await lock.acquire()
            if mode == .queued || hasQueuedSaves {
                if waits, let change { transaction { change(self) } }
                return try await queueSave(as: method, releasing: lock)
            }
            defer { lock.release() }
            let subject = waits && change != nil ? copy() : self
            if waits, let change {
                let before = SaveState(of: subject)
                subject.transaction { change(subject) }
                try Self.check(SaveState(of: subject).newRejections(since: before))
            }
            guard let save = try PendingSave(of: subject, for: self, as: method) else { return }
            defer { save.end() }
            try save.finish(try await save.send(), on: self) { isConfirmed = true }
        } catch {
            if !isConfirmed, let before, let after { before.restore(self, where: after) }
            throw error
        }
    }

    private static func check(_ rejections: [Violation]) throws {
        if !rejections.isEmpty { throw ModelError.invalid(rejections) }
    }
}
