import Foundation

/// The move of open jobs from one storage to another, in their order. Each job is there exactly once, also if the
/// process ends in the middle: then the next move completes it.
///
/// A batch has four steps: ids are reserved in the target; the source notes them with the batch; the target adds the
/// jobs with these ids, which adds none twice; the source discards its jobs. The note is a hold of an ordering key that
/// no job has. One program at a time moves jobs from a source.
package struct ReplayMove: Sendable {
    /// The result of a move.
    package struct Result: Sendable {
        /// The ids of the moved jobs in the target, by those in the source.
        package var moved: [ReplayJob.ID: ReplayJob.ID] = [:]
        /// The jobs that the target has refused, each with its error. They are held in the source.
        package var refusals: [ReplayRefusal] = []
    }

    /// A batch, as its note describes it.
    private struct Batch {
        /// The note's hold.
        let hold: ReplayHold
        /// The jobs.
        let ids: [ReplayJob.ID]
        /// The id of the first one in the target; the others follow.
        let first: ReplayJob.ID

        /// The owner that moves it; `nil` for an addition.
        var mover: ReplayOwnerRecord.ID? {
            if case .key(let name) = hold { Int64(name.dropFirst(ReplayMove.prefix.count)) } else { nil }
        }
    }

    /// A job of a batch.
    private struct Item {
        let id: ReplayJob.ID
        let targetID: ReplayJob.ID
        let draft: ReplayDraft
    }

    fileprivate static let prefix = "diamond.move "
    /// The beginning of the reason of a queue's hold during a move. The name of the target follows.
    private static let moving = "its jobs are moved to "
    /// The text between the name of the target and the reason of an earlier hold.
    private static let heldBefore = "; it was held before: "

    /// Returns the note that jobs of a source have these ids in the target, or will have them.
    static func note(
        _ ids: [ReplayJob.ID], from first: ReplayJob.ID, by mover: String
    ) -> (hold: ReplayHold, text: String) {
        (.key(prefix + mover), ([first] + ids).map(String.init).joined(separator: " "))
    }

    private static let batchSize = 100
    private static let open = ReplayFilter(states: [.ready, .waiting, .held], includesSignedOut: true)

    let source: any ReplayStorage
    let target: any ReplayStorage
    /// The maximum number of open jobs in the target.
    let maximumCount: Int
    /// Whether jobs that are held themselves are moved, too.
    let includesHeld: Bool
    /// The last job that is moved; by default all are, also those that are added meanwhile.
    var end = ReplayJob.ID.max
    /// Whether the jobs of a note may still be about to be added to the source. The note stays then.
    private let isBeingAdded: (@Sendable (ReplayHold) -> Bool)?

    package init(
        from source: any ReplayStorage, to target: any ReplayStorage, maximumCount: Int, includesHeld: Bool = true,
        isBeingAdded: (@Sendable (ReplayHold) -> Bool)? = nil
    ) {
        self.source = source
        self.target = target
        self.maximumCount = maximumCount
        self.includesHeld = includesHeld
        self.isBeingAdded = isBeingAdded
    }

    /// Moves the jobs that are ready, waiting or held. Jobs that run stay.
    ///
    /// - Throws: ``ReplayError``: `busy` if another program moves jobs from the source, or if this process was stopped
    ///   for longer than the lease of the move. Jobs may have been moved by then.
    package func run() async throws(ReplayError) -> Result { try await run(isAlone: false) }

    /// Moves the jobs of a source that programs share, as ``run()`` does. Meanwhile the source's queue is held, so that
    /// no program sends a job that the target has. If the process ends in the middle, the queue stays held until the
    /// next move. Holds of keys, identities and lanes are added to the target before.
    ///
    /// In strict order, the jobs behind one that is dead or in review stay.
    ///
    /// - Throws: ``ReplayError``: `busy` if an owner is alive, which sends jobs of the source, or moves them, or if
    ///   this process was stopped for longer than the lease of the move: the queue is still held then; `wrongState` if
    ///   a move to another target was interrupted, or the target is the source.
    package func runHolding() async throws(ReplayError) -> Result {
        let living = try await source.owners().filter { !$0.isDead }
        guard living.isEmpty else { throw busy }
        let holds = try source.holds()
        let reason = Self.moving + target.name
        let before = try reasonBefore(holds, reason: reason)
        let others = Set(try target.holds().map(\.hold))
        _ = try await source.hold(
            .queue, reason: reason + (before.map { Self.heldBefore + $0 } ?? ""), isSignOut: false, isDryRun: false)
        guard try !target.holds().contains(where: { $0.hold == .queue && $0.reason.hasPrefix(reason) }) else {
            try await release(restoring: before)
            throw ReplayError(.wrongState, "\(source.name) is the source and the target: name two queues")
        }
        for active in holds where !active.hold.isWhole && !Self.isNote(active.hold) && !others.contains(active.hold) {
            _ = try await target.hold(active.hold, reason: active.reason, isSignOut: false, isDryRun: false)
        }
        let result = try await run(isAlone: true)
        try await release(restoring: before)
        return result
    }

    /// Returns the reason for which the queue was held before the first move; `nil` if it was not held.
    private func reasonBefore(
        _ holds: [ReplayQueue.ActiveHold], reason: String
    ) throws(ReplayError) -> String? {
        guard let old = holds.first(where: { $0.hold == .queue })?.reason else { return nil }
        guard old.hasPrefix(Self.moving) else { return old }
        let rest = old.hasPrefix(reason) ? String(old.dropFirst(reason.count)) : "other"
        if rest.isEmpty { return nil }
        guard rest.hasPrefix(Self.heldBefore) else {
            throw ReplayError(.wrongState, "\(source.name): \(old), and that was interrupted: complete it first")
        }
        return String(rest.dropFirst(Self.heldBefore.count))
    }

    private func release(restoring reason: String?) async throws(ReplayError) {
        guard let reason else { return _ = try await source.release(.queue, isDryRun: false) }
        _ = try await source.hold(.queue, reason: reason, isSignOut: false, isDryRun: false)
    }

    private var busy: ReplayError {
        ReplayError(.busy, "\(source.name): a program sends or moves its jobs: end it, and move them then")
    }

    private var lost: ReplayError {
        ReplayError(.busy, "\(source.name): the lease of the move has ended, and other jobs are left: move them again")
    }

    /// Returns descriptions of the refused jobs of a result.
    func refusals(in result: Result) -> [ReplayError] {
        result.refusals.map { refusal in
            let error = refusal.error
            return ReplayError(
                error.code,
                "\(target.name) refuses job \(refusal.id) of \(source.name), which holds it now: \(error.message)")
        }
    }

    private static func isNote(_ hold: ReplayHold) -> Bool {
        if case .key(let name) = hold { name.hasPrefix(prefix) } else { false }
    }

    /// - Parameter isAlone: whether no other owner may be alive.
    private func run(isAlone: Bool) async throws(ReplayError) -> Result {
        let program = ReplayOwnerRecord.Program(process: getpid(), name: ProcessInfo.processInfo.processName)
        let me = try await source.register(program, lease: ReplayOwner.lease)
        var result = Result()
        do throws(ReplayError) {
            let blocked = isAlone ? try await takeOver(by: me) : []
            for batch in try await interrupted(besides: me) { try await move(batch, result: &result) }
            var last: ReplayJob.ID = 0
            while let batch = try await next(after: &last, besides: blocked, by: me) {
                guard try await source.renew(me, lease: ReplayOwner.lease, isSuspended: false) else { throw lost }
                try await move(batch, result: &result)
            }
        } catch {
            try? await source.unregister(me)
            throw error
        }
        try await source.unregister(me)
        return result
    }

    /// Ends the claims of dead owners.
    ///
    /// - Returns: the ordering keys whose heads stay, and with them the jobs behind.
    private func takeOver(by me: ReplayOwnerRecord.ID) async throws(ReplayError) -> Set<ExactText> {
        // Read after the queue is held: an owner that registers later claims nothing.
        let owners = try await source.owners().filter { $0.id != me }
        guard owners.allSatisfy(\.isDead) else { throw busy }
        if !owners.isEmpty { _ = try await source.rescue(owners, by: me) }
        let keys = try source.keys(limit: Int(Int32.max), onlyBlocked: true, includesSignedOut: true)
        return Set(keys.map(\.head).filter(\.state.isEnd).compactMap { $0.orderingKey.map(ExactText.init) })
    }

    /// Returns the noted batches of movers that have ended, and of additions, in their order.
    private func interrupted(besides me: ReplayOwnerRecord.ID) async throws(ReplayError) -> [Batch] {
        let living = Set(try await source.owners().filter { !$0.isDead && $0.id != me }.map(\.id))
        let batches = try batches()
        // Nobody sends the jobs of a spill: an owner is about to move them, or does.
        let isSpill = isBeingAdded != nil
        guard !batches.contains(where: { $0.mover.map(living.contains) ?? false }), !isSpill || living.isEmpty else {
            throw ReplayError(.busy, "\(source.name): another program moves its jobs: wait until it has ended")
        }
        return batches.filter { isBeingAdded?($0.hold) != true }
            .sorted { ($0.ids.first ?? 0) < ($1.ids.first ?? 0) }
    }

    /// Whether the source has a job to move, or a note.
    var isNeeded: Bool {
        get throws(ReplayError) {
            if try !batches().isEmpty { return true }
            var last: ReplayJob.ID = 0
            while true {
                let jobs = try source.jobs(Self.open, after: last, limit: Self.batchSize)
                if jobs.contains(where: includes) { return true }
                guard let newest = jobs.last else { return false }
                last = newest.id
            }
        }
    }

    private func includes(_ job: ReplayJob) -> Bool { includesHeld || job.state != .held || job.reason != .held }

    private func batches() throws(ReplayError) -> [Batch] {
        try source.holds().compactMap { active in
            guard case .key(let name) = active.hold, name.hasPrefix(Self.prefix) else { return nil }
            let numbers = active.reason.split(separator: " ").compactMap { Int64($0) }
            guard let first = numbers.first else { return nil }
            return Batch(hold: active.hold, ids: Array(numbers.dropFirst()), first: first)
        }
    }

    /// Reserves the ids of the next batch, and notes it. It ends before a job that was added with a note meanwhile: the
    /// next move begins with that.
    private func next(
        after last: inout ReplayJob.ID, besides blocked: Set<ExactText>, by me: ReplayOwnerRecord.ID
    ) async throws(ReplayError) -> Batch? {
        while true {
            let jobs = try source.jobs(Self.open, after: last, limit: Self.batchSize)
            let noted = Set(try batches().flatMap(\.ids))
            let free = jobs.prefix { $0.id <= end && !noted.contains($0.id) }
            guard let newest = free.last else { return nil }
            last = newest.id
            let ids = free.filter { job in
                includes(job) && !(job.orderingKey.map { blocked.contains(ExactText($0)) } ?? false)
            }.map(\.id)
            if ids.isEmpty { continue }
            let first = try await target.reserveIDs(ids.count)
            let note = Self.note(ids, from: first, by: "\(me)")
            _ = try await source.hold(note.hold, reason: note.text, isSignOut: false, isDryRun: false)
            return Batch(hold: note.hold, ids: ids, first: first)
        }
    }

    private func move(_ batch: Batch, result: inout Result) async throws(ReplayError) {
        var items: [Item] = []
        for (index, id) in batch.ids.enumerated() {
            // A job that was discarded is in the target already.
            guard let job = try source.job(id), !job.state.isEnd, job.state != .running else { continue }
            let draft = try draft(of: job)
            items.append(Item(id: id, targetID: batch.first + Int64(index), draft: draft))
        }
        do throws(ReplayError) {
            try await move(items, result: &result)
        } catch {
            guard error.isRefusal else { throw error }
            for item in items { try await moveUnlessRefused(item, result: &result) }
        }
        _ = try await source.release(batch.hold, isDryRun: false)
    }

    private func moveUnlessRefused(_ item: Item, result: inout Result) async throws(ReplayError) {
        do throws(ReplayError) {
            try await move([item], result: &result)
        } catch {
            guard error.isRefusal else { throw error }
            result.refusals.append(ReplayRefusal(id: item.id, error: error))
            _ = try await source.apply(.hold, to: [item.id], isDryRun: false)
        }
    }

    private func move(_ items: [Item], result: inout Result) async throws(ReplayError) {
        if items.isEmpty { return }
        var entry = ReplayEntry(items.map(\.draft), maximumCount: maximumCount)
        entry.ids = items.map(\.targetID)
        let added = try await target.enqueue(entry, isWanted: nil)
        _ = try await source.apply(.discard, to: items.map(\.id), isDryRun: false)
        for (item, id) in zip(items, added.ids) { result.moved[item.id] = id }
    }

    /// Returns the draft of a job as it is. Its count of attempts starts again, its failures and its expiry stay.
    private func draft(of job: ReplayJob) throws(ReplayError) -> ReplayDraft {
        guard let data = try source.request(of: job.id) else { throw .noJob(job.id) }
        var draft = try ReplayDraft(ReplayDraft.request(from: data))
        let moment = try target.moment()
        if job.state == .waiting { draft.runAt = moment.time(of: job.runAt) }
        draft.expiresAt = job.expiresAt.map { moment.time(of: $0) }
        draft.isHeld = job.isHeld && draft.awaitedIDs.isEmpty
        draft.mayLackObjects = true
        draft.history.unknownSince = job.unknownSince.map { moment.time(of: $0) }
        draft.history.failures = try source.failures(of: job.id).map {
            ReplayDraft.History.Failure(startedAt: moment.time(of: $0.startedAt), code: $0.code, message: $0.message)
        }
        return draft
    }
}

extension ReplayError {
    /// Whether a storage refuses a job as it is.
    fileprivate var isRefusal: Bool {
        [.badRequest, .notUnique, .cannotMerge, .missingObject, .waitsForItself].contains(code)
    }
}
