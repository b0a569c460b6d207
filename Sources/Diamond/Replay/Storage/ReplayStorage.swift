public import Foundation

/// A store of a queue's jobs, which all processes that use the queue share.
///
/// A ``ReplayQueue`` decides what is sent, and when; its storage makes each decision durable. Every method that changes
/// something is one whole transition, or several of them in batches. A driver reads rows, changes them with the rules
/// of ``ReplayRow``, and writes them; it makes no decision of its own. `ReplayStorageSuite` in DiamondTesting checks a
/// driver. See <doc:WritingAStorageDriver>.
///
/// **Atomic.** A call is one transaction, or, where its comment says so, several. Calls may share a transaction if a
/// call that fails leaves the others untouched. Transactions are serializable for the rows of one job, one ordering key
/// and one unique name.
///
/// **Durable.** When a method returns, its changes survive a crash of the process and of the storage. When it throws,
/// they were not made, or, after an unknown commit, may have been: such a method may be called again with the same
/// arguments. After a crash, each transaction is there as a whole or not at all.
///
/// **Fenced.** Each claim and rescue of a job increases its token. A method that takes a ``ReplayClaim`` does nothing
/// if the claim's token is not the newest one of the job.
///
/// **Ordered.** At most one job of an ordering key runs. It is the first of its key that is ready, waiting, running or
/// held; in strict order also the dead ones and those in review count. The first one is the head. A job that fails, is
/// held or is redriven keeps its position.
///
/// **Reads.** Methods that are not asynchronous read on the calling thread, which they may hold for a round trip.
/// They see all changes that were made before they are called, by any process.
///
/// **Times.** All times are ``QueueTime``, by one clock that all processes share: the storage's. Leases end by that
/// clock, or by one that continues while it is set.
///
/// Errors are ``ReplayError``. A code for which ``ReplayError/isTransient`` holds says that the same call may succeed a
/// moment later. A server that cannot be reached is ``ReplayError/Code-swift.struct/unreachable``.
public protocol ReplayStorage: AnyObject, Sendable {
    /// The name of the storage for messages: a path or a URL, without user and password.
    var name: String { get }

    // MARK: Events

    /// Sets the observer of the changes that this instance makes. Called once, before any other method.
    ///
    /// - Parameter report: called with the changes of each transaction when they are durable, and before the calls that
    ///   have made them return. It must return quickly.
    func observe(_ report: @escaping @Sendable (ReplayCommit) -> Void)

    /// Observes other processes until the result is released.
    ///
    /// - Parameters:
    ///   - subject: what is observed.
    ///   - notify: called soon after a change, on any thread; it may also be called for no reason. It must return
    ///     quickly.
    func watch(_ subject: ReplayWatchSubject, _ notify: @escaping @Sendable () -> Void) -> any ReplayWatch

    /// A number that changes whenever others than this instance have changed jobs; `nil` if it is not known.
    var versionByOthers: Int64? { get }

    /// Ends the use of the storage: completes what maintenance has left undone as far as the time suffices, and
    /// releases what the instance holds. Owners were removed before. Later calls still work.
    func close(within limit: Duration) async

    // MARK: Time

    /// Returns the current time by the storage's clock, and its difference from this machine's wall clock. Without a
    /// round trip, except for the first ones.
    func moment() throws(ReplayError) -> ReplayMoment

    // MARK: Adding

    /// Adds jobs in their order, or none, in one transaction.
    ///
    /// For each draft: if an open job has its ``ReplayDraft/uniqueKey``, the draft's ``ReplayPolicy/uniqueness``
    /// applies. A job is held if it, its key, its identity or its lane is held. If the entry has an owner, which is
    /// alive, and the single draft is the head of its key, ready, and the queue is not held, then that owner has
    /// claimed the job when this returns.
    ///
    /// - Parameters:
    ///   - entry: the jobs to add.
    ///   - isWanted: called with the result before the commit, perhaps several times; `nil` for always. If it returns
    ///     `false`, nothing is added or changed, and all ids of the result are `nil`.
    /// - Throws: ``ReplayError``; then nothing was added, or the commit is unknown. An entry with
    ///   ``ReplayEntry/ids`` may then be added again.
    func enqueue(
        _ entry: ReplayEntry, isWanted: (@Sendable ([ReplayJob.ID?]) -> Bool)?
    ) async throws(ReplayError) -> ReplayEnqueued

    /// Returns the first of `count` consecutive ids that no other job will have, for ``ReplayEntry/ids``.
    func reserveIDs(_ count: Int) async throws(ReplayError) -> ReplayJob.ID

    /// Whether a job with the draft's ordering key or unique name has to be sent before it.
    func isPreceded(_ draft: ReplayDraft) async throws(ReplayError) -> Bool

    /// Replaces the request of a job. If a server may know the old one (``ReplayRow/mayBeKnown``), the draft is added
    /// as another job, which gets the unique name.
    ///
    /// - Returns: the id of the job that has the new request.
    func edit(_ edit: ReplayEdit) async throws(ReplayError) -> ReplayJob.ID

    // MARK: Sending

    /// Whether a job could be claimed in some lanes, apart from holds and identities. May be `true` for no reason.
    func hasReady(in lanes: ReplaySelection.Lanes) async throws(ReplayError) -> Bool

    /// Returns the earliest time at which a waiting job becomes ready, or a job expires; `nil` for none.
    func nextTime() async throws(ReplayError) -> QueueTime?

    /// Makes jobs ready that have reached their time, ends those that have expired, and claims jobs that may be sent:
    /// ready heads, the highest priority first, then the one that has been a head for longest. A job that is held,
    /// needs review or is damaged is not claimed, but changed. While the queue or the engines are held, nothing is
    /// claimed.
    ///
    /// When this returns, the jobs are running, have a new token, and belong to the owner. If the owner dies, they are
    /// rescued. No second job of an ordering key is claimed, also not in one batch, before the first one has ended.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of jobs; at least 1.
    ///   - selection: the jobs that may be claimed.
    ///   - owner: the owner.
    /// - Returns: the claimed jobs; `nil` if the owner is not alive: it has no row, or its lease has ended.
    func claim(
        _ limit: Int, _ selection: ReplaySelection, by owner: ReplayOwnerRecord.ID
    ) async throws(ReplayError) -> ReplayClaims?

    /// Checks a job for the last time, and notes that its attempt begins. The job is sent only if this returns `true`.
    ///
    /// `false` if the token is old, the owner is not alive, or the job is held, has expired or needs review; the last
    /// three end the claim. When this returns `true`, the start (``ReplayRow/sentAt``) is durable: if the owner dies,
    /// the job counts as sent.
    func begin(
        _ claim: ReplayClaim, _ start: ReplayStart, by owner: ReplayOwnerRecord.ID
    ) async throws(ReplayError) -> Bool

    /// Notes that the begun attempts of a claim were certainly not processed.
    ///
    /// - Parameters:
    ///   - claim: the job's claim.
    ///   - isUnsent: called in the transaction. If it returns `false`, nothing is written.
    func cancelBegin(_ claim: ReplayClaim, if isUnsent: @escaping @Sendable () -> Bool) async throws(ReplayError)

    /// Writes the outcome of a job (``ReplayRow/finish(_:at:wasUndecodable:)``), with its failure and its answer. The
    /// next job of its key becomes the head. An old lease does not matter, only the token does.
    ///
    /// If this throws, it may be called again with the same arguments, and the storage may note the answer elsewhere,
    /// for the case that this process ends before.
    ///
    /// - Returns: the job's new state; if the job has ended already with this token, its state; `nil` if another owner
    ///   has the job, or it was deleted.
    func finish(_ claim: ReplayClaim, _ report: ReplayReport) async throws(ReplayError) -> ReplayState?

    /// Whether this process can no longer write because of an error: another program has taken over the storage. Then
    /// its owner is given up.
    func isLost(after error: ReplayError) -> Bool

    /// Makes waiting jobs ready before their time. In batches. If there are none, nothing is written.
    ///
    /// - Returns: whether there were any.
    func retryEarly(_ retry: ReplayEarlyRetry) async throws(ReplayError) -> Bool

    // MARK: Owners

    /// Registers an owner, which may claim jobs.
    ///
    /// - Parameters:
    ///   - owner: the owner.
    ///   - lease: the time for which it counts as alive without a renewal, in milliseconds.
    func register(_ owner: ReplayOwnerRecord.Program, lease: Int64) async throws(ReplayError) -> ReplayOwnerRecord.ID

    /// Renews the lease of an owner, from now on.
    ///
    /// - Parameters:
    ///   - owner: the owner.
    ///   - lease: the length of the lease, in milliseconds.
    ///   - isSuspended: whether the system may end the process at any time.
    /// - Returns: `false` if the lease has ended, or the owner was removed; then it is never alive again.
    func renew(
        _ owner: ReplayOwnerRecord.ID, lease: Int64, isSuspended: Bool
    ) async throws(ReplayError) -> Bool

    /// Removes an owner, and gives its jobs back (``ReplayRow/applyOwnerDeath(rescues:mayBeCause:at:)``). Until this
    /// returns, no other process takes it for dead; afterwards it is, even if this throws.
    func unregister(_ owner: ReplayOwnerRecord.ID) async throws(ReplayError)

    /// Stops to prove that an owner of this instance is alive. Others may rescue its jobs at once.
    func abandon(_ owner: ReplayOwnerRecord.ID)

    /// Returns the owners of all processes, and whether each is known to be dead: its process has ended, or its lease.
    func owners() async throws(ReplayError) -> [ReplayOwnerRecord]

    /// Removes dead owners, and makes their jobs ready again, or ends them. An owner that has renewed its lease since
    /// it was read stays, and if the caller's owner is not alive itself, all stay.
    func rescue(
        _ dead: [ReplayOwnerRecord], by owner: ReplayOwnerRecord.ID
    ) async throws(ReplayError) -> ReplayRescue

    // MARK: Managing

    /// Applies an action to each job, in one transaction, which is undone in a dry run. At most 500 jobs.
    ///
    /// - Returns: for each job, the effect.
    func apply(
        _ action: ReplayAction, to ids: [ReplayJob.ID], isDryRun: Bool
    ) async throws(ReplayError) -> [ReplayEffect]

    /// Adds a hold, or updates its reason, then holds the ready and waiting jobs that it covers, in batches. From the
    /// first transaction on, it applies to jobs that are added, return to the queue or are claimed.
    ///
    /// - Parameters:
    ///   - hold: the hold.
    ///   - reason: the reason, for people.
    ///   - isSignOut: whether the hold is that of an identity that signs out. Its jobs are left out of lists.
    ///   - isDryRun: whether jobs are only counted, and nothing is changed.
    /// - Returns: the number of jobs that it has newly held.
    func hold(
        _ hold: ReplayHold, reason: String, isSignOut: Bool, isDryRun: Bool
    ) async throws(ReplayError) -> Int

    /// Ends a hold, then releases its jobs that are not held otherwise, in batches. For an identity, also releases
    /// those that wait for it to sign in. If the process ends meanwhile, maintenance releases the rest.
    ///
    /// - Returns: the number of released jobs.
    func release(_ hold: ReplayHold, isDryRun: Bool) async throws(ReplayError) -> Int

    /// Erases the ended jobs of an identity that has been held as signed out, except those that open jobs need.
    ///
    /// - Parameters:
    ///   - identity: the identity.
    ///   - discardsJobs: whether to erase all its jobs. The transaction that erases the last one ends the hold.
    func eraseJobs(of identity: String, discardingOpen discardsJobs: Bool) async throws(ReplayError)

    /// Deletes jobs beyond the retention and completes what processes left unfinished, in batches: released jobs that
    /// are still held, the jobs of identities that have signed out, waits that no rule allows. Stops when the task is
    /// canceled. Called once an hour by each process that sends jobs.
    func maintain(_ retention: ReplayRetention) async throws(ReplayError)

    // MARK: Reading

    /// Returns a job in its current state; `nil` if there is none.
    func job(_ id: ReplayJob.ID) throws(ReplayError) -> ReplayJob?

    /// Returns jobs that match a filter in the order of their ids, from the first one after `id` on.
    func jobs(_ filter: ReplayFilter, after id: ReplayJob.ID, limit: Int) throws(ReplayError) -> [ReplayJob]

    /// Returns the ids of jobs that match a filter, as ``jobs(_:after:limit:)`` does.
    func ids(_ filter: ReplayFilter, after id: ReplayJob.ID, limit: Int) throws(ReplayError) -> [ReplayJob.ID]

    /// Returns the id of the newest job; 0 if there is none.
    func lastID() throws(ReplayError) -> ReplayJob.ID

    /// Returns the number of jobs that match a filter.
    func count(_ filter: ReplayFilter) throws(ReplayError) -> Int

    /// Returns the number of jobs in each state, at a cost that does not depend on it.
    func counts() throws(ReplayError) -> [ReplayState: Int]

    /// Returns the request of a job as it was added (``ReplayDraft/request``); `nil` if there is no such job.
    ///
    /// - Throws: `badRequest` if it is damaged.
    func request(of id: ReplayJob.ID) throws(ReplayError) -> Data?

    /// Returns the last failed attempts of a job, the oldest first; 10 at most.
    func failures(of id: ReplayJob.ID) throws(ReplayError) -> [ReplayFailure]

    /// Returns the holds that are in effect.
    func holds() throws(ReplayError) -> [ReplayQueue.ActiveHold]

    /// Returns ordering keys with open jobs.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of keys.
    ///   - onlyBlocked: whether to return only keys whose head is held, dead or in review.
    ///   - includesSignedOut: whether to return keys whose head belongs to an identity that has signed out.
    func keys(
        limit: Int, onlyBlocked: Bool, includesSignedOut: Bool
    ) throws(ReplayError) -> [ReplayQueue.OrderingKey]

    /// Returns the jobs whose last transition was at a time or later, the oldest first.
    func changed(since time: QueueTime) throws(ReplayError) -> [ReplayJob]

    /// Returns the jobs that wait for their time, the earliest first.
    func waiting(limit: Int, of identities: ReplaySelection.Identities) throws(ReplayError) -> [ReplayJob]

    /// Returns the number of jobs that could have been sent for a minute; 0 while another owner than `owner` runs jobs,
    /// or the queue is held.
    func unsentCount(besides owner: ReplayOwnerRecord.ID?) throws(ReplayError) -> Int

    // MARK: Answers

    /// Returns the jobs whose answers are stored (``ReplayDraft/storesAnswer``), ended or not, in the order of their
    /// ids, and whether each answer was consumed.
    ///
    /// - Parameter ids: the jobs to return; `nil` for all.
    func jobsStoringAnswers(
        among ids: Set<ReplayJob.ID>?
    ) throws(ReplayError) -> [(job: ReplayJob, isConsumed: Bool)]

    /// Returns the answer to a job; `nil` if none is stored for it.
    func answer(to id: ReplayJob.ID) throws(ReplayError) -> ReplayStoredAnswer?

    /// Notes that answers were consumed, in one transaction. Then their jobs are deleted like others.
    ///
    /// - Parameters:
    ///   - ids: the jobs.
    ///   - retained: the jobs among them whose answers stay as long as the jobs do.
    func consumeAnswers(of ids: [ReplayJob.ID], retaining retained: Set<ReplayJob.ID>) async throws(ReplayError)

    /// Puts the id of an object into the requests that wait for it, in one transaction, and makes those ready that wait
    /// for no other. ``finish(_:_:)`` does it by itself if it finds the id in the answer.
    func assign(_ id: JSONValue, to localID: String) async throws(ReplayError)

    /// Discards the jobs that wait for the id of an object that will never be created, in one transaction.
    func discardJobs(awaiting localID: String) async throws(ReplayError)

    /// Returns the ids of objects that jobs have created, by local id; `null` for an object that no job has created
    /// yet. Objects that no job creates are left out.
    func ids(of localIDs: Set<String>) throws(ReplayError) -> [String: JSONValue]
}

extension ReplayStorage {
    /// `nil`: not known.
    public var versionByOthers: Int64? { nil }

    /// Whether a newer version of Diamond has taken over the storage.
    public func isLost(after error: ReplayError) -> Bool { error.code == .newerStore }
}
