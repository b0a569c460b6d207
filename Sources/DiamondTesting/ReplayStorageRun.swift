import Diamond
import Foundation
import HTTPTypes

/// A check of ``ReplayStorageSuite`` that runs: a storage, and short forms of its methods.
struct ReplayStorageRun: Sendable {
    /// A broken rule.
    struct Violation: Error, CustomStringConvertible { let description: String }

    let place: any ReplayStorageSuite.Place
    let storage: any ReplayStorage

    func expect(_ isRight: Bool, _ rule: @autoclosure () -> String) throws(Violation) {
        if !isRight { throw Violation(description: rule()) }
    }

    func expectEqual<Value: Equatable>(
        _ found: Value, _ expected: Value, _ what: @autoclosure () -> String
    ) throws(Violation) {
        try expect(found == expected, "\(what()) is \(found), not \(expected)")
    }

    /// Returns the code of the error that a body throws.
    func code(of body: () async throws -> Void) async throws -> ReplayError.Code {
        do { try await body() } catch let error as ReplayError { return error.code }
        throw Violation(description: "an error is missing")
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
        draft.delay(until: QueueTime(rawValue: try storage.moment().time.rawValue + delay.wholeMilliseconds))
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
            guard let claims = try await storage.claim(limit, selection, by: owner) else {
                throw Violation(description: "a living owner counts as dead")
            }
            if !claims.isMore { return claims.jobs }
        }
    }

    func claimOne(in other: (any ReplayStorage)? = nil, by owner: Int64) async throws -> ReplayClaim {
        guard let claim = try await (other ?? storage).claim(1, ReplaySelection(), by: owner)?.jobs.first else {
            throw Violation(description: "no job may be sent")
        }
        return claim
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

    func job(_ id: ReplayJob.ID) throws -> ReplayJob {
        guard let job = try storage.job(id) else { throw Violation(description: "job \(id) is missing") }
        return job
    }

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

extension Duration {
    fileprivate var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
