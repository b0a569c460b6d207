public import Foundation

/// A storage that passes all calls to another one, except for the methods that it implements itself.
public protocol ReplayStorageWrapper: ReplayStorage {
    /// The other storage.
    var base: any ReplayStorage { get }
}

extension ReplayStorageWrapper {
    public var name: String { base.name }

    public func observe(_ report: @escaping @Sendable (ReplayCommit) -> Void) { base.observe(report) }

    public func watch(
        _ subject: ReplayWatchSubject, _ notify: @escaping @Sendable () -> Void
    ) -> any ReplayWatch { base.watch(subject, notify) }

    public var versionByOthers: Int64? { base.versionByOthers }

    public func reserveIDs(_ count: Int) async throws(ReplayError) -> ReplayJob.ID {
        try await base.reserveIDs(count)
    }

    public func edit(_ edit: ReplayEdit) async throws(ReplayError) -> ReplayJob.ID { try await base.edit(edit) }

    public func hasReady(in lanes: ReplaySelection.Lanes) async throws(ReplayError) -> Bool {
        try await base.hasReady(in: lanes)
    }

    public func nextTime() async throws(ReplayError) -> QueueTime? { try await base.nextTime() }

    public func claim(
        _ limit: Int, _ selection: ReplaySelection, by owner: ReplayOwnerRecord.ID
    ) async throws(ReplayError) -> ReplayClaims? { try await base.claim(limit, selection, by: owner) }

    public func begin(
        _ claim: ReplayClaim, _ start: ReplayStart, by owner: ReplayOwnerRecord.ID
    ) async throws(ReplayError) -> Bool { try await base.begin(claim, start, by: owner) }

    public func cancelBegin(
        _ claim: ReplayClaim, if isUnsent: @escaping @Sendable () -> Bool
    ) async throws(ReplayError) { try await base.cancelBegin(claim, if: isUnsent) }

    public func finish(_ claim: ReplayClaim, _ report: ReplayReport) async throws(ReplayError) -> ReplayState? {
        try await base.finish(claim, report)
    }

    public func isLost(after error: ReplayError) -> Bool { base.isLost(after: error) }

    public func retryEarly(_ retry: ReplayEarlyRetry) async throws(ReplayError) -> Bool {
        try await base.retryEarly(retry)
    }

    public func register(
        _ owner: ReplayOwnerRecord.Program, lease: Int64
    ) async throws(ReplayError) -> ReplayOwnerRecord.ID { try await base.register(owner, lease: lease) }

    public func renew(
        _ owner: ReplayOwnerRecord.ID, lease: Int64, isSuspended: Bool
    ) async throws(ReplayError) -> Bool { try await base.renew(owner, lease: lease, isSuspended: isSuspended) }

    public func unregister(_ owner: ReplayOwnerRecord.ID) async throws(ReplayError) {
        try await base.unregister(owner)
    }

    public func abandon(_ owner: ReplayOwnerRecord.ID) { base.abandon(owner) }

    public func owners() async throws(ReplayError) -> [ReplayOwnerRecord] { try await base.owners() }

    public func rescue(
        _ dead: [ReplayOwnerRecord], by owner: ReplayOwnerRecord.ID
    ) async throws(ReplayError) -> ReplayRescue { try await base.rescue(dead, by: owner) }

    public func apply(
        _ action: ReplayAction, to ids: [ReplayJob.ID], isDryRun: Bool
    ) async throws(ReplayError) -> [ReplayEffect] { try await base.apply(action, to: ids, isDryRun: isDryRun) }

    public func hold(
        _ hold: ReplayHold, reason: String, isSignOut: Bool, isDryRun: Bool
    ) async throws(ReplayError) -> Int {
        try await base.hold(hold, reason: reason, isSignOut: isSignOut, isDryRun: isDryRun)
    }

    public func release(_ hold: ReplayHold, isDryRun: Bool) async throws(ReplayError) -> Int {
        try await base.release(hold, isDryRun: isDryRun)
    }

    public func eraseJobs(of identity: String, discardingOpen discardsJobs: Bool) async throws(ReplayError) {
        try await base.eraseJobs(of: identity, discardingOpen: discardsJobs)
    }

    public func maintain(_ retention: ReplayRetention) async throws(ReplayError) {
        try await base.maintain(retention)
    }

    public func claimPreview(
        _ limit: Int, of identities: ReplaySelection.Identities
    ) async throws(ReplayError) -> ReplayQueue.ClaimPreview { try await base.claimPreview(limit, of: identities) }

    public func check() async throws(ReplayError) -> [ReplayFinding] { try await base.check() }

    public func jobs(
        _ filter: ReplayFilter, after id: ReplayJob.ID, limit: Int
    ) throws(ReplayError) -> [ReplayJob] { try base.jobs(filter, after: id, limit: limit) }

    public func ids(
        _ filter: ReplayFilter, after id: ReplayJob.ID, limit: Int
    ) throws(ReplayError) -> [ReplayJob.ID] { try base.ids(filter, after: id, limit: limit) }

    public func lastID() throws(ReplayError) -> ReplayJob.ID { try base.lastID() }

    public func count(_ filter: ReplayFilter) throws(ReplayError) -> Int { try base.count(filter) }

    public func counts() throws(ReplayError) -> [ReplayState: Int] { try base.counts() }

    public func holds() throws(ReplayError) -> [ReplayQueue.ActiveHold] { try base.holds() }

    public func history(since date: Date) throws(ReplayError) -> [ReplayQueue.HourlyCount] {
        try base.history(since: date)
    }

    public func keys(
        limit: Int, onlyBlocked: Bool, includesSignedOut: Bool
    ) throws(ReplayError) -> [ReplayQueue.OrderingKey] {
        try base.keys(limit: limit, onlyBlocked: onlyBlocked, includesSignedOut: includesSignedOut)
    }

    public func changed(since time: QueueTime) throws(ReplayError) -> [ReplayJob] { try base.changed(since: time) }

    public func waiting(
        limit: Int, of identities: ReplaySelection.Identities
    ) throws(ReplayError) -> [ReplayJob] { try base.waiting(limit: limit, of: identities) }

    public func unsentCount(besides owner: ReplayOwnerRecord.ID?) throws(ReplayError) -> Int {
        try base.unsentCount(besides: owner)
    }

    public func jobsStoringAnswers(
        among ids: Set<ReplayJob.ID>?
    ) throws(ReplayError) -> [(job: ReplayJob, isConsumed: Bool)] { try base.jobsStoringAnswers(among: ids) }

    public func answer(to id: ReplayJob.ID) throws(ReplayError) -> ReplayStoredAnswer? { try base.answer(to: id) }

    public func consumeAnswers(
        of ids: [ReplayJob.ID], retaining retained: Set<ReplayJob.ID>
    ) async throws(ReplayError) { try await base.consumeAnswers(of: ids, retaining: retained) }

    public func assign(_ id: JSONValue, to localID: String) async throws(ReplayError) {
        try await base.assign(id, to: localID)
    }

    public func discardJobs(awaiting localID: String) async throws(ReplayError) {
        try await base.discardJobs(awaiting: localID)
    }

    public func ids(of localIDs: Set<String>) throws(ReplayError) -> [String: JSONValue] {
        try base.ids(of: localIDs)
    }

    public func close(within limit: Duration) async { await base.close(within: limit) }

    public func moment() throws(ReplayError) -> ReplayMoment { try base.moment() }

    public func enqueue(
        _ entry: ReplayEntry, isWanted: (@Sendable ([ReplayJob.ID?]) -> Bool)?
    ) async throws(ReplayError) -> ReplayEnqueued { try await base.enqueue(entry, isWanted: isWanted) }

    public func isPreceded(_ draft: ReplayDraft) async throws(ReplayError) -> Bool { try await base.isPreceded(draft) }

    public func job(_ id: ReplayJob.ID) throws(ReplayError) -> ReplayJob? { try base.job(id) }

    public func request(of id: ReplayJob.ID) throws(ReplayError) -> Data? { try base.request(of: id) }

    public func failures(of id: ReplayJob.ID) throws(ReplayError) -> [ReplayFailure] { try base.failures(of: id) }
}
