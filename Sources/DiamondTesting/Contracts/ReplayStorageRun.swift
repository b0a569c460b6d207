import Diamond
import Foundation
import HTTPTypes

/// A check of ``ReplayStorageSuite`` that runs: a storage, and short forms of its methods.
struct ReplayStorageRun: ContractRun {
    let place: any ReplayStorageSuite.Place
    let storage: any ReplayStorage

    /// Returns the code of the error that a body throws.
    func code(of body: () async throws -> Void) async throws -> ReplayError.Code {
        do { try await body() } catch let error as ReplayError { return error.code }
        throw ContractViolation("an error is missing")
    }

    // MARK: Adding

    func draft(
        _ method: HTTPRequest.Method = .post, _ path: String = "notes", _ policy: ReplayPolicy = .durable,
        body: JSONValue = ["text": "a"], _ change: (inout Request) -> Void = { _ in }
    ) throws -> ReplayDraft {
        var request = Request("http://api.test/\(path)", method: method)
        if method != .get, method != .delete { request.body = .json(body) }
        request.replay = policy
        change(&request)
        return try ReplayDraft(request)
    }

    /// Returns the draft of a request that is not sent before a time from now.
    func draft(after delay: Duration, _ policy: ReplayPolicy = .durable) throws -> ReplayDraft {
        var draft = try draft(.post, "notes", policy)
        draft.delay(until: QueueTime(rawValue: try storage.moment().time.rawValue + delay.milliseconds))
        return draft
    }

    @discardableResult
    func add(_ drafts: ReplayDraft..., by owner: Int64? = nil) async throws -> [ReplayJob.ID] {
        let ids = try await enqueue(drafts, by: owner).ids.compactMap { $0 }
        try expectEqual(ids.count, drafts.count, "the number of ids")
        return ids
    }

    func enqueue(
        _ drafts: [ReplayDraft], by owner: Int64? = nil, ids: [ReplayJob.ID]? = nil, maximumCount: Int = 100_000
    ) async throws -> ReplayEnqueued {
        var entry = ReplayEntry(drafts, maximumCount: maximumCount)
        entry.owner = owner
        entry.ids = ids
        return try await storage.enqueue(entry, isWanted: nil)
    }

    // MARK: Sending

    func owner(in other: (any ReplayStorage)? = nil, lease: Int64 = 60_000) async throws -> Int64 {
        try await (other ?? storage).register(.init(process: 1, name: "suite"), lease: lease)
    }

    func claim(
        _ limit: Int = 1, _ selection: ReplaySelection = ReplaySelection(), by owner: Int64
    ) async throws -> [ReplayClaim] {
        while true {
            let claims = try require(
                try await storage.claim(limit, selection, by: owner), "a living owner counts as dead")
            if !claims.isMore { return claims.jobs }
        }
    }

    func claimOne(in other: (any ReplayStorage)? = nil, by owner: Int64) async throws -> ReplayClaim {
        let claims = try await (other ?? storage).claim(1, ReplaySelection(), by: owner)
        return try require(claims?.jobs.first, "no job may be sent")
    }

    /// Claims jobs, and returns their ids.
    func claimed(
        _ limit: Int = 10, _ selection: ReplaySelection = ReplaySelection(), by owner: Int64
    ) async throws -> [ReplayJob.ID] { try await claim(limit, selection, by: owner).map(\.id) }

    func begin(_ claim: ReplayClaim, by owner: Int64) async throws {
        try expect(await storage.begin(claim, ReplayStart(), by: owner), "job \(claim.id) may not begin")
    }

    @discardableResult
    func finish(_ claim: ReplayClaim, _ outcome: ReplayOutcome) async throws -> ReplayState? {
        try await storage.finish(claim, ReplayReport(outcome, draw: 0.5))
    }

    /// Claims the next job, begins it, and writes its outcome.
    @discardableResult
    func send(_ outcome: ReplayOutcome = .answered(status: 200), by owner: Int64) async throws -> ReplayJob.ID {
        let job = try await claimOne(by: owner)
        try await begin(job, by: owner)
        try await finish(job, outcome)
        return job.id
    }

    // MARK: Reading

    func job(_ id: ReplayJob.ID) throws -> ReplayJob { try require(try storage.job(id), "job \(id) is missing") }

    func expect(_ id: ReplayJob.ID, is state: ReplayState, _ reason: ReplayReason? = nil) throws {
        let job = try job(id)
        try expect(
            job.state == state && (reason == nil || job.reason == reason),
            "job \(id) is \(job.state) (\(job.reason)), not \(state)\(reason.map { " (\($0))" } ?? "")")
    }
}

extension ReplayOutcome {
    static let lost = failed(.unknown, code: "connectionLost", message: "the connection broke")
    static let unsent = failed(.unsent, code: "cannotConnect", message: "refused")
    static let offline = failed(.offline, code: "offline", message: "no route")
}
