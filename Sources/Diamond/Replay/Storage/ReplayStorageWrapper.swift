package import Foundation

/// A storage that passes all calls to another one, except for the methods that it implements itself.
package protocol ReplayStorageWrapper: ReplayStorage {
    /// The other storage.
    var base: any ReplayStorage { get }
}

extension ReplayStorageWrapper {
    package var name: String { base.name }

    package func observe(_ report: @escaping @Sendable (ReplayCommit) -> Void) { base.observe(report) }

    package func watch(
        _ subject: ReplayWatchSubject, _ notify: @escaping @Sendable () -> Void
    ) -> any ReplayWatch { base.watch(subject, notify) }

    package var versionByOthers: Int64? { base.versionByOthers }

    package func reserveIDs(_ count: Int) async throws(ReplayError) -> ReplayJob.ID {
        try await base.reserveIDs(count)
    }

    package func edit(_ edit: ReplayEdit) async throws(ReplayError) -> ReplayJob.ID { try await base.edit(edit) }

    package func hasReady(in lanes: ReplaySelection.Lanes) async throws(ReplayError) -> Bool {
        try await base.hasReady(in: lanes)
    }

    package func nextTime() async throws(ReplayError) -> QueueTime? { try await base.nextTime() }

    package func claim(
        _ limit: Int, _ selection: ReplaySelection, by owner: ReplayOwnerRecord.ID
    ) async throws(ReplayError) -> ReplayClaims? { try await base.claim(limit, selection, by: owner) }

    package func begin(
        _ claim: ReplayClaim, _ start: ReplayStart, by owner: ReplayOwnerRecord.ID
    ) async throws(ReplayError) -> Bool { try await base.begin(claim, start, by: owner) }

    package func cancelBegin(
        _ claim: ReplayClaim, if isUnsent: @escaping @Sendable () -> Bool
    ) async throws(ReplayError) { try await base.cancelBegin(claim, if: isUnsent) }

    package func finish(_ claim: ReplayClaim, _ report: ReplayReport) async throws(ReplayError) -> ReplayState? {
        try await base.finish(claim, report)
    }

    package func isLost(after error: ReplayError) -> Bool { base.isLost(after: error) }

    package func retryEarly(_ retry: ReplayEarlyRetry) async throws(ReplayError) -> Bool {
        try await base.retryEarly(retry)
    }

    package func register(
        _ owner: ReplayOwnerRecord.Program, lease: Int64
    ) async throws(ReplayError) -> ReplayOwnerRecord.ID { try await base.register(owner, lease: lease) }

    package func renew(
        _ owner: ReplayOwnerRecord.ID, lease: Int64, isSuspended: Bool
    ) async throws(ReplayError) -> Bool { try await base.renew(owner, lease: lease, isSuspended: isSuspended) }

    package func unregister(_ owner: ReplayOwnerRecord.ID) async throws(ReplayError) {
        try await base.unregister(owner)
    }

    package func abandon(_ owner: ReplayOwnerRecord.ID) { base.abandon(owner) }

    package func owners() async throws(ReplayError) -> [ReplayOwnerRecord] { try await base.owners() }

    package func rescue(
        _ dead: [ReplayOwnerRecord], by owner: ReplayOwnerRecord.ID
    ) async throws(ReplayError) -> ReplayRescue { try await base.rescue(dead, by: owner) }

    package func apply(
        _ action: ReplayAction, to ids: [ReplayJob.ID], isDryRun: Bool
    ) async throws(ReplayError) -> [ReplayEffect] { try await base.apply(action, to: ids, isDryRun: isDryRun) }

    package func hold(
        _ hold: ReplayHold, reason: String, isSignOut: Bool, isDryRun: Bool
    ) async throws(ReplayError) -> Int {
        try await base.hold(hold, reason: reason, isSignOut: isSignOut, isDryRun: isDryRun)
    }

    package func release(_ hold: ReplayHold, isDryRun: Bool) async throws(ReplayError) -> Int {
        try await base.release(hold, isDryRun: isDryRun)
    }

    package func eraseJobs(of identity: String, discardingOpen discardsJobs: Bool) async throws(ReplayError) {
        try await base.eraseJobs(of: identity, discardingOpen: discardsJobs)
    }

    package func maintain(_ retention: ReplayRetention) async throws(ReplayError) {
        try await base.maintain(retention)
    }

    package func jobs(
        _ filter: ReplayFilter, after id: ReplayJob.ID, limit: Int
    ) throws(ReplayError) -> [ReplayJob] { try base.jobs(filter, after: id, limit: limit) }

    package func ids(
        _ filter: ReplayFilter, after id: ReplayJob.ID, limit: Int
    ) throws(ReplayError) -> [ReplayJob.ID] { try base.ids(filter, after: id, limit: limit) }

    package func lastID() throws(ReplayError) -> ReplayJob.ID { try base.lastID() }

    package func count(_ filter: ReplayFilter) throws(ReplayError) -> Int { try base.count(filter) }

    package func counts() throws(ReplayError) -> [ReplayState: Int] { try base.counts() }

    package func holds() throws(ReplayError) -> [ReplayQueue.ActiveHold] { try base.holds() }

    package func keys(
        limit: Int, onlyBlocked: Bool, includesSignedOut: Bool
    ) throws(ReplayError) -> [ReplayQueue.OrderingKey] {
        try base.keys(limit: limit, onlyBlocked: onlyBlocked, includesSignedOut: includesSignedOut)
    }

    package func changed(since time: QueueTime) throws(ReplayError) -> [ReplayJob] { try base.changed(since: time) }

    package func waiting(
        limit: Int, of identities: ReplaySelection.Identities
    ) throws(ReplayError) -> [ReplayJob] { try base.waiting(limit: limit, of: identities) }

    package func unsentCount(besides owner: ReplayOwnerRecord.ID?) throws(ReplayError) -> Int {
        try base.unsentCount(besides: owner)
    }

    package func jobsStoringAnswers(
        among ids: Set<ReplayJob.ID>?
    ) throws(ReplayError) -> [(job: ReplayJob, isConsumed: Bool)] { try base.jobsStoringAnswers(among: ids) }

    package func answer(to id: ReplayJob.ID) throws(ReplayError) -> ReplayStoredAnswer? { try base.answer(to: id) }

    package func consumeAnswers(
        of ids: [ReplayJob.ID], retaining retained: Set<ReplayJob.ID>
    ) async throws(ReplayError) { try await base.consumeAnswers(of: ids, retaining: retained) }

    package func assign(_ id: JSONValue, to localID: String) async throws(ReplayError) {
        try await base.assign(id, to: localID)
    }

    package func discardJobs(awaiting localID: String) async throws(ReplayError) {
        try await base.discardJobs(awaiting: localID)
    }

    package func ids(of localIDs: Set<String>) throws(ReplayError) -> [String: JSONValue] {
        try base.ids(of: localIDs)
    }

    package func close(within limit: Duration) async { await base.close(within: limit) }

    package func moment() throws(ReplayError) -> ReplayMoment { try base.moment() }

    package func enqueue(
        _ entry: ReplayEntry, isWanted: (@Sendable ([ReplayJob.ID?]) -> Bool)?
    ) async throws(ReplayError) -> ReplayEnqueued { try await base.enqueue(entry, isWanted: isWanted) }

    package func isPreceded(_ draft: ReplayDraft) async throws(ReplayError) -> Bool { try await base.isPreceded(draft) }

    package func job(_ id: ReplayJob.ID) throws(ReplayError) -> ReplayJob? { try base.job(id) }

    package func request(of id: ReplayJob.ID) throws(ReplayError) -> Data? { try base.request(of: id) }

    package func failures(of id: ReplayJob.ID) throws(ReplayError) -> [ReplayFailure] { try base.failures(of: id) }
}
