public import Foundation

/// Jobs to be added together.
public struct ReplayEntry: Sendable {
    /// The jobs, in their order.
    public let drafts: [ReplayDraft]
    /// The maximum number of open jobs. If one of the jobs would exceed it, none is added: `queueFull`.
    public let maximumCount: Int
    /// The owner that sends the job at once, if it is a single one; `nil` if the jobs wait for a claim.
    public var owner: ReplayOwnerRecord.ID?
    /// The ids of the jobs, which were reserved (``ReplayStorage/reserveIDs(_:)``); `nil` if the storage chooses. If a
    /// job with such an id exists, and is the draft's (``ReplayDraft/isSame(as:)``, or it has the draft's unique name),
    /// it is not added again: so an entry whose commit is unknown is repeated safely. If it is another job, which has
    /// the id since a server has lost commits, the draft is added with a new id. A further repetition may then double
    /// it.
    public var ids: [ReplayJob.ID]?
    /// The rules that find secrets in merged requests.
    let rules: KeyRules

    init(_ drafts: [ReplayDraft], maximumCount: Int, rules: KeyRules, owner: ReplayOwnerRecord.ID? = nil) {
        self.drafts = drafts
        self.maximumCount = maximumCount
        self.rules = rules
        self.owner = owner
    }

    /// Creates an entry of jobs that wait for a claim.
    public init(_ drafts: [ReplayDraft], maximumCount: Int) {
        self.init(drafts, maximumCount: maximumCount, rules: KeyRules())
    }

    /// Returns a draft merged into the request of a job with its unique name.
    ///
    /// - Parameters:
    ///   - draft: the new request, with its policy.
    ///   - stored: the request of the job (``ReplayDraft/request``).
    public func merged(_ draft: ReplayDraft, into stored: Data) throws(ReplayError) -> ReplayDraft.Merger {
        try draft.merged(into: ReplayDraft.request(from: stored), rules: rules)
    }
}

/// The result of adding a draft.
package enum ReplayAddition: Hashable, Sendable {
    case added(ReplayJob.ID)
    /// A job with the same unique name waited already, and stays.
    case kept(ReplayJob.ID)
    /// The draft has replaced a job with the same unique name.
    case replaced(ReplayJob.ID)
    /// Neither the draft nor the job with the same unique name has to be sent.
    case merged
    case refused(ReplayError)

    /// The id of the job that has the request now, or `nil` if nothing has to be sent; the error of a refused draft.
    package var result: Result<ReplayJob.ID?, ReplayError> {
        switch self {
        case .added(let id), .kept(let id), .replaced(let id): .success(id)
        case .merged: .success(nil)
        case .refused(let error): .failure(error)
        }
    }
}

/// The result of adding jobs.
public struct ReplayEnqueued: Hashable, Sendable {
    /// The id of each draft's job: the new one, or the one with the same unique name that stays or was changed. An id is
    /// `nil` if nothing has to be sent any more (``ReplayPolicy/Uniqueness/merge``), or the jobs were not wanted.
    public var ids: [ReplayJob.ID?]
    /// The claim of the entry's owner; `nil` if the job is not to be sent now.
    public var claim: ReplayClaim?
    /// Whether the entry's owner is alive. If not, the job waits for a claim.
    public var isOwnerAlive: Bool

    /// Creates a result.
    public init(ids: [ReplayJob.ID?], claim: ReplayClaim? = nil, isOwnerAlive: Bool = true) {
        self.ids = ids
        self.claim = claim
        self.isOwnerAlive = isOwnerAlive
    }
}

/// A new request for a job.
public struct ReplayEdit: Sendable {
    /// The job.
    public let id: ReplayJob.ID
    /// The new request.
    public let draft: ReplayDraft
    /// The maximum number of open jobs, if a job has to be added.
    public let maximumCount: Int
    /// The request at the start of the edit.
    let old: Request
    let rules: KeyRules
}

extension ReplayEdit {
    /// Creates an edit.
    ///
    /// - Parameters:
    ///   - id: the job's id.
    ///   - old: the request at the start of the edit. If the job has another one meanwhile, it is not edited.
    ///   - draft: the new request, with its policy.
    ///   - maximumCount: the maximum number of open jobs.
    public init(of id: ReplayJob.ID, from old: Request, to draft: ReplayDraft, maximumCount: Int) {
        self.init(id: id, draft: draft, maximumCount: maximumCount, old: old, rules: KeyRules())
    }
}

extension ReplayError {
    package static func queueFull(_ count: Int) -> ReplayError {
        ReplayError(.queueFull, "the queue is full, with \(count) open jobs: send some, or raise `maximumCount`")
    }

    /// The error for a request that needs the id of an object that no job creates.
    package static func missingObject(_ name: String, for draft: ReplayDraft) -> ReplayError {
        let message = "no job creates the object \(name), to which \(draft.method) \(draft.url) refers"
        return ReplayError(.missingObject, "\(message): save that object first")
    }

    /// The error for a request that needs the id of an object that waits for the request itself.
    ///
    /// - Parameter jobs: descriptions of the jobs through which the object waits.
    package static func waitsForItself(_ draft: ReplayDraft, through jobs: [String]) -> ReplayError {
        let steps = ["\(draft.method) \(draft.url)"] + jobs
        return ReplayError(
            .waitsForItself,
            "the request would wait for itself: \((steps + [steps[0]]).joined(separator: " → ")): "
                + "save one of the objects without the id of the other first")
    }

    /// The error for two requests with one unique name that are not sent in the same place.
    ///
    /// - Parameter id: the id of the job that waits.
    package static func cannotMerge(into id: ReplayJob.ID) -> ReplayError {
        let reason = "job \(id) with its unique name has another ordering key, order or lane"
        return ReplayError(.cannotMerge, "\(reason): use the same for both, or two unique names")
    }
}
