import DiamondSQLite

/// A storage on a server, with a local one for the jobs that are added while the server cannot be reached.
///
/// ``enqueue(_:isWanted:)`` returns when the server or the local disk has the jobs. Jobs spill from the first addition
/// that the server does not take until all of them have been moved to it. Meanwhile all that this instance adds spills,
/// so that the jobs of each ordering key and producer keep their order. An addition whose commit is unknown is not
/// doubled: the ids of its jobs are reserved before, and it is moved with them.
///
/// The id of a spilled job is negative. ``job(_:)``, ``request(of:)``, ``failures(of:)``, ``answer(to:)``,
/// ``apply(_:to:isDryRun:)`` and ``edit(_:)`` know it until this instance is closed or released. All else is the
/// server's, and throws while it cannot be reached. A job that is held, or that the server refuses, stays in the local
/// storage.
package final class SpillingReplayStorage: ReplayStorageWrapper {
    /// The spilled jobs, and the move that is under way.
    struct Spill {
        /// Whether all additions spill.
        var isSpilling: Bool
        /// The additions to the local storage that have not returned, and all of them.
        var adding = 0
        var added = 0
        /// The notes of additions that have not returned.
        var notes: Set<ReplayHold> = []
        /// The additions that wait while the last jobs are moved; `nil` if they do not have to.
        var waiting: [Promise<Void>]?
        /// The ids of moved jobs on the server, by their local ones.
        var moved: [ReplayJob.ID: ReplayJob.ID] = [:]
        var drain: Task<Void, Never>?
        /// The kinds of errors of the moves since jobs spill.
        var reported: Set<ReplayError.Code> = []
        /// The lock on the directory of the local storage; `nil` after the storage was closed, until jobs spill again.
        var lock: FileLock?
    }

    let remote: any ReplayStorage
    let local: any ReplayStorage
    /// The directory of the local storage, to be locked while jobs spill; `nil` if no other engine may take it.
    private let directory: Store?
    /// The move of what ended engines have left in the other directories.
    private let rescue: SpillRescue?
    let pause: Duration
    let clock: any Clock<Duration>
    let report: @Sendable (ReplayError) -> Void
    let state: Guarded<Spill>
    let isAdded = Signal()
    /// The lock of those that move or change jobs.
    let changes = AsyncLock()

    /// Creates a storage. Jobs that an earlier process has left in the local storage are moved first.
    ///
    /// - Parameters:
    ///   - remote: the storage of all processes.
    ///   - local: the storage of spilled jobs, which only this process uses, and which sends none of them.
    ///   - pause: the time between two attempts to move spilled jobs; by default a second.
    ///   - clock: the clock for the pause.
    /// - Throws: ``ReplayError`` if the local storage cannot be read.
    package convenience init(
        _ remote: any ReplayStorage, spillingInto local: any ReplayStorage, pause: Duration = .seconds(1),
        clock: any Clock<Duration> = ContinuousClock()
    ) throws(ReplayError) {
        try self.init(remote, spillingInto: local, pause: pause, clock: clock, own: nil, rescue: nil) { _ in }
    }

    private init(
        _ remote: any ReplayStorage, spillingInto local: any ReplayStorage, pause: Duration,
        clock: any Clock<Duration>, own: SpillDirectories.Taken?, rescue: SpillRescue?,
        reportingFailure report: @escaping @Sendable (ReplayError) -> Void
    ) throws(ReplayError) {
        self.remote = remote
        self.local = local
        directory = own?.storage.store
        self.rescue = rescue
        self.pause = pause
        self.clock = clock
        self.report = report
        let isSpilling = try Self.mustMove(from: local, to: remote)
        state = Guarded(Spill(isSpilling: isSpilling, lock: own?.lock))
        if isSpilling { startMoving() }
    }

    /// Creates a storage whose local one is the first directory that no other engine has. Moves to the server what
    /// ended engines have left in the others, too.
    ///
    /// - Parameters:
    ///   - remote: the storage of all processes.
    ///   - directories: the directories of the server's spilled jobs.
    ///   - clock: the clock for the pauses between two attempts to move them.
    ///   - report: receives the errors that keep jobs from being moved, and one for each job that the server refuses.
    ///     Each kind is reported once from the first job that spills until all are moved, and once for each other
    ///     directory.
    /// - Throws: ``ReplayError`` if no directory can be opened.
    convenience init(
        _ remote: any ReplayStorage, spillingInto directories: SpillDirectories, clock: any Clock<Duration>,
        reportingFailure report: @escaping @Sendable (ReplayError) -> Void
    ) throws(ReplayError) {
        let own = try directories.take()
        let rescue = SpillRescue(directories, to: remote, clock: clock, reportingFailure: report)
        try self.init(
            remote, spillingInto: own.storage, pause: .seconds(1), clock: clock, own: own, rescue: rescue,
            reportingFailure: report)
    }

    /// Creates a storage whose local one is the file `replay.sqlite` of a store.
    ///
    /// - Parameters:
    ///   - remote: the storage of all processes.
    ///   - store: the directory of the spilled jobs. No engine has the same one: it would send them.
    ///   - seal: the seal of the spilled jobs; `nil`, the default, for none.
    /// - Throws: ``ReplayError`` if the file cannot be opened or read.
    package convenience init(
        _ remote: any ReplayStorage, spillingInto store: Store, seal: (any CacheSeal)? = nil
    ) throws(ReplayError) {
        let local = try SQLiteReplayStorage(store, seal: seal, clock: .system, create: true, seals: true)
        try self.init(remote, spillingInto: local)
    }

    deinit { state.withLock { $0.drain }?.cancel() }

    /// The server's storage.
    package var base: any ReplayStorage { remote }

    /// Whether additions spill at the moment.
    package var isSpilling: Bool { state.withLock { $0.isSpilling } }

    // MARK: Adding

    /// Lets the next addition spill without a wait for the server, which could not be reached a moment ago. That
    /// addition also starts the moves.
    func spillNext() { state.withLock { $0.isSpilling = true } }

    package func enqueue(
        _ entry: ReplayEntry, isWanted: (@Sendable ([ReplayJob.ID?]) -> Bool)?
    ) async throws(ReplayError) -> ReplayEnqueued {
        guard try await !beginSpill(isFirst: false) else {
            // After a close, nothing moves the jobs any more.
            startMoving()
            return try await spill(entry, isWanted: isWanted)
        }
        var entry = entry
        do throws(ReplayError) {
            if entry.ids == nil {
                let first = try await remote.reserveIDs(entry.drafts.count)
                entry.ids = entry.drafts.indices.map { first + Int64($0) }
            }
            return try await remote.enqueue(entry, isWanted: isWanted)
        } catch {
            guard error.mayBeUnreachable else { throw error }
            _ = try await beginSpill(isFirst: true)
            startMoving()
            return try await spill(entry, isWanted: isWanted)
        }
    }

    /// Notes that jobs are about to be added to the local storage, if jobs spill.
    ///
    /// - Parameter isFirst: whether jobs spill from now on.
    /// - Throws: ``ReplayError``: `closed` if this storage was closed, and another engine has taken its directory.
    private func beginSpill(isFirst: Bool) async throws(ReplayError) -> Bool {
        while let wait = state.withLock({ state -> Promise<Void>? in
            guard state.waiting != nil else { return nil }
            let wait = Promise<Void>()
            state.waiting?.append(wait)
            return wait
        }) { await wait.value() }
        return try state.withLock { (state) throws(ReplayError) in
            guard state.isSpilling || isFirst else { return false }
            guard try hasDirectory(&state) else {
                // The other engine may have moved the jobs meanwhile.
                if isFirst { throw taken }
                guard try !Self.mustMove(from: local, to: remote) else { throw taken }
                state.isSpilling = false
                return false
            }
            state.isSpilling = true
            state.adding += 1
            state.added += 1
            return true
        }
    }

    private static func mustMove(
        from local: any ReplayStorage, to remote: any ReplayStorage
    ) throws(ReplayError) -> Bool {
        try ReplayMove(from: local, to: remote, maximumCount: .max, includesHeld: false).isNeeded
    }

    /// Whether no other engine has the directory of the local storage. Locks it again if this storage was closed.
    private func hasDirectory(_ state: inout Spill) throws(ReplayError) -> Bool {
        guard let directory, state.lock == nil else { return true }
        state.lock = try SpillDirectories.lock(directory)
        return state.lock != nil
    }

    /// - Throws: ``ReplayError``: `closed` if this storage was closed, and another engine has taken its directory.
    func takeDirectory() throws(ReplayError) {
        guard try state.withLock(hasDirectory) else { throw taken }
    }

    private var taken: ReplayError {
        ReplayError(
            .closed, "\(local.name) belongs to another engine since this one was closed: use the queue of that one")
    }

    /// - Parameter entry: the jobs, with their ids on the server if it may have them.
    private func spill(
        _ entry: ReplayEntry, isWanted: (@Sendable ([ReplayJob.ID?]) -> Bool)?
    ) async throws(ReplayError) -> ReplayEnqueued {
        var noted: ReplayHold?
        defer {
            state.withLock { state in
                state.adding -= 1
                if let noted { state.notes.remove(noted) }
            }
            isAdded.wake()
        }
        var own = entry
        // Owners are the server's.
        own.owner = nil
        own.ids = nil
        if let first = entry.ids?.first {
            let local = try await local.reserveIDs(entry.drafts.count)
            let ids = entry.drafts.indices.map { local + Int64($0) }
            own.ids = ids
            // Before the jobs, so that they are never moved with other ids.
            let note = ReplayMove.note(ids, from: first, by: "added \(local)")
            noted = note.hold
            state.withLock { _ = $0.notes.insert(note.hold) }
            _ = try await self.local.hold(note.hold, reason: note.text, isSignOut: false, isDryRun: false)
        }
        let check = isWanted.map { isWanted in { @Sendable (ids: [ReplayJob.ID?]) in isWanted(ids.negated) } }
        let added = try await local.enqueue(own, isWanted: check)
        return ReplayEnqueued(ids: added.ids.negated)
    }

    package func isPreceded(_ draft: ReplayDraft) async throws(ReplayError) -> Bool {
        if isSpilling { return true }
        do throws(ReplayError) { return try await remote.isPreceded(draft) } catch {
            // It would overtake jobs on the server.
            guard error.mayBeUnreachable else { throw error }
            return true
        }
    }

    package func moment() throws(ReplayError) -> ReplayMoment {
        do throws(ReplayError) { return try remote.moment() } catch { return try local.moment() }
    }

    /// Erases jobs of the server, and spilled ones in the directories of all engines of the store. Those that another
    /// living engine has not moved yet cannot be discarded.
    ///
    /// - Throws: ``ReplayError``: `busy` if there are such jobs, after all others were erased.
    package func eraseJobs(of identity: String, discardingOpen discardsJobs: Bool) async throws(ReplayError) {
        // No job is being moved: it would reach the server afterwards.
        try await changes.run { () throws(ReplayError) in
            // Another engine may have the directory since this storage was closed.
            let own = state.withLock { $0.lock } == nil ? nil : directory
            if own != nil || directory == nil {
                try await local.eraseJobs(of: identity, discardingOpen: discardsJobs)
            }
            var failure: ReplayError?
            do throws(ReplayError) {
                try await rescue?.directories.eraseJobs(of: identity, discardingOpen: discardsJobs, besides: own)
            } catch {
                failure = error
            }
            try await remote.eraseJobs(of: identity, discardingOpen: discardsJobs)
            if let failure { throw failure }
        }
    }

    /// While jobs spill, none of the server's are counted, because that could wait for it.
    package func unsentCount(besides owner: ReplayOwnerRecord.ID?) throws(ReplayError) -> Int {
        isSpilling ? 0 : try remote.unsentCount(besides: owner)
    }

    package func maintain(_ retention: ReplayRetention) async throws(ReplayError) {
        try await local.maintain(retention)
        try await remote.maintain(retention)
    }

    /// Ends the moves, and leaves the directory to the next engine. A later addition that spills takes it again, if it
    /// is still free, and begins to move jobs.
    package func close(within limit: Duration) async {
        let (drain, added) = state.withLock { ($0.drain, $0.added) }
        drain?.cancel()
        rescue?.stop()
        _ = await TimeLimit(limit, by: clock).value { [self] in
            await drain?.value
            await rescue?.ended()
            // No job of this storage is being moved or changed.
            await changes.run { leaveDirectory(unless: added) }
        }
        await remote.close(within: limit)
        await local.close(within: limit)
    }

    /// - Parameter added: the number of additions when the moves were ended. If there are more, the moves begin again.
    private func leaveDirectory(unless added: Int) {
        let isUsed = state.withLock { state in
            state.drain = nil
            let isUsed = state.adding > 0 || state.added != added
            if !isUsed { state.lock = nil }
            return isUsed && state.isSpilling
        }
        if isUsed { startMoving() }
    }
}

extension [ReplayJob.ID?] {
    fileprivate var negated: [ReplayJob.ID?] { map { $0.map { -$0 } } }
}

extension ReplayError {
    /// Whether a storage may not have been reached, so that a later call may succeed.
    var mayBeUnreachable: Bool { isTransient || code == .cannotOpen || code == .closed }
}
