import Diamond
import Foundation
import HTTPTypes

/// Producers, workers and a server, all unreliable, over a storage. All steps are drawn from one seed.
struct ReplayStorageSimulation {
    /// A claimed job of a worker.
    private struct Work {
        enum Stage { case claimed, begun, sent(ReplayOutcome) }

        let claim: ReplayClaim
        let owner: Int64
        var stage = Stage.claimed

        var isClaimed: Bool { if case .claimed = stage { true } else { false } }
        var isBegun: Bool { if case .begun = stage { true } else { false } }
        var outcome: ReplayOutcome? { if case .sent(let outcome) = stage { outcome } else { nil } }
    }

    private struct Worker {
        let storage: any ReplayStorage
        var owner: Int64?
        var works: [Work] = []
    }

    /// A job whose addition was acknowledged.
    private struct Known {
        let key: String?
        /// Whether the server recognizes a repetition.
        let isHonored: Bool
        /// The number of effects at the server.
        var effects = 0
        /// Whether a later job may have been sent before it: it was dead or in review.
        var wasPassed = false
    }

    private let run: ReplayStorageRun
    private var random: Generator
    private var workers: [Worker] = []
    /// The works of workers that were taken for dead, and do not know it.
    private var orphans: [Work] = []
    private var known: [ReplayJob.ID: Known] = [:]
    /// The last job of each ordering key that had its effect.
    private var last: [String: ReplayJob.ID] = [:]
    private var holds: Set<ReplayHold> = []

    init(_ run: ReplayStorageRun, seed: UInt64) async throws {
        self.run = run
        random = Generator(state: seed)
        for _ in 0..<4 { workers.append(Worker(storage: try await run.place.open())) }
    }

    /// Takes steps, and then sends what is left.
    mutating func take(_ steps: Int) async throws {
        for _ in 0..<steps { try await step() }
        try await drain()
    }

    private mutating func step() async throws {
        let worker = Int.random(in: workers.indices, using: &random)
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<14: try await produce(worker)
        case 14..<34: try await claim(worker)
        case 34..<52: try await begin(worker)
        case 52..<68: try send(worker)
        case 68..<86: try await finish(worker)
        case 86..<88: try await die(worker)
        case 88..<91: try await continueOrphan()
        case 91..<93: try await hold()
        case 93..<94: _ = try await run.storage.retryEarly(.requested)
        default: try await pass(.milliseconds(Int.random(in: 1...40_000, using: &random)))
        }
    }

    /// Lets time pass, while the living renew their leases.
    private mutating func pass(_ duration: Duration) async throws {
        try await run.place.advance(by: duration)
        for worker in workers {
            guard let owner = worker.owner else { continue }
            let isAlive = try await worker.storage.renew(owner, lease: 60_000, isSuspended: false)
            try run.expect(isAlive, "a lease of a minute has ended after \(duration)")
        }
    }

    // MARK: Producing

    private mutating func produce(_ worker: Int) async throws {
        let key = ["a", "b", "c", nil].randomElement(using: &random) ?? nil
        let isHonored = Int.random(in: 0..<10, using: &random) < 8
        var policy = ReplayPolicy(
            .durable, orderingKey: key, order: Bool.random(using: &random) ? .ordered : .strict,
            keyLifetime: isHonored ? .seconds(864_000) : nil)
        policy.priority = Int.random(in: -1...1, using: &random)
        policy.attempts = Int.random(in: 2...6, using: &random)
        let method = [HTTPRequest.Method.post, .put].randomElement(using: &random) ?? .put
        var draft = try run.draft(method, "notes", policy)
        if Int.random(in: 0..<5, using: &random) == 0 {
            let wait = Int64.random(in: 1...60_000, using: &random)
            draft.delay(until: QueueTime(rawValue: try run.storage.moment().time.rawValue + wait))
        }
        let entry = ReplayEntry([draft], maximumCount: 100_000)
        guard let id = try await workers[worker].storage.enqueue(entry, isWanted: nil).ids[0] else { return }
        try run.expect(known[id] == nil, "two jobs have the id \(id)")
        known[id] = Known(key: key, isHonored: isHonored || draft.isIdempotent)
    }

    // MARK: Sending

    private mutating func claim(_ worker: Int) async throws {
        guard workers[worker].works.count < 5 else { return }
        let storage = workers[worker].storage
        let owner: Int64
        if let own = workers[worker].owner { owner = own } else { owner = try await run.owner(in: storage) }
        workers[worker].owner = owner
        let limit = Int.random(in: 1...3, using: &random)
        let claims = try await storage.claim(limit, ReplaySelection(), by: owner)?.jobs ?? []
        try run.expect(claims.count <= limit, "\(claims.count) jobs were claimed, at most \(limit) are wanted")
        var keys = Set(workers.flatMap(\.works).compactMap { known[$0.claim.id]?.key })
        for claim in claims {
            let job = try run.require(known[claim.id], "job \(claim.id) was claimed that nobody has added")
            if let key = job.key {
                try run.expect(keys.insert(key).inserted, "two jobs of the key \(key) run")
                try run.expect(!holds.contains(.key(key)), "job \(claim.id) was claimed, and is held")
            }
            try run.expect(!holds.contains(.queue), "job \(claim.id) was claimed while the queue is held")
            workers[worker].works.append(Work(claim: claim, owner: owner))
        }
    }

    private mutating func begin(_ worker: Int) async throws {
        guard let index = workers[worker].works.firstIndex(where: \.isClaimed) else { return }
        let work = workers[worker].works[index]
        if try await workers[worker].storage.begin(work.claim, ReplayStart(), by: work.owner) {
            workers[worker].works[index].stage = .begun
        } else {
            workers[worker].works.remove(at: index)
        }
    }

    /// The server receives the request, or not, and answers, or not.
    private mutating func send(_ worker: Int) throws {
        guard let index = workers[worker].works.firstIndex(where: \.isBegun) else { return }
        let id = workers[worker].works[index].claim.id
        let outcome: ReplayOutcome
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<60:
            try act(id)
            outcome = .answered(status: 200)
        case 60..<70:
            try act(id)
            outcome = .lost
        case 70..<75: outcome = .lost
        case 75..<85: outcome = .unsent
        case 85..<89: outcome = .offline
        case 89..<94: outcome = .answered(status: 503, isTransient: true, pushBack: .seconds(30))
        case 94..<97: outcome = .answered(status: 422)
        default: outcome = .failed(.interrupted, code: "cancelled", message: "stopped")
        }
        workers[worker].works[index].stage = .sent(outcome)
    }

    private mutating func act(_ id: ReplayJob.ID) throws {
        guard var job = known[id] else { return }
        defer { known[id] = job }
        let isSecond = job.effects > 0
        if isSecond, job.isHonored { return }
        job.effects += 1
        try run.expect(!isSecond, "job \(id) had a second effect")
        guard let key = job.key else { return }
        let before = last[key] ?? 0
        try run.expect(before < id || job.wasPassed, "job \(id) of \(key) came after \(before)")
        last[key] = max(before, id)
    }

    private mutating func finish(_ worker: Int) async throws {
        let works = workers[worker].works
        guard let index = works.firstIndex(where: { $0.outcome != nil }), let outcome = works[index].outcome
        else { return }
        let work = workers[worker].works.remove(at: index)
        let report = ReplayReport(outcome, draw: .random(in: 0..<1, using: &random))
        let state = try await workers[worker].storage.finish(work.claim, report)
        try run.expect(state != nil, "the outcome of job \(work.claim.id) was refused")
        // A commit may be unknown.
        if Int.random(in: 0..<10, using: &random) == 0, state?.isEnd == true {
            let again = try await workers[worker].storage.finish(work.claim, report)
            try run.expectEqual(again, state, "the state of job \(work.claim.id), whose outcome was repeated")
        }
        note(work.claim.id, state)
    }

    private mutating func note(_ id: ReplayJob.ID, _ state: ReplayState?) {
        if state == .dead || state == .needsReview { known[id]?.wasPassed = true }
    }

    // MARK: Deaths

    /// A worker is taken for dead, and goes on with its jobs.
    private mutating func die(_ worker: Int) async throws {
        guard let owner = workers[worker].owner else { return }
        let rescuer = (worker + 1) % workers.count
        if workers[rescuer].owner == nil { workers[rescuer].owner = try await run.owner(in: workers[rescuer].storage) }
        guard let me = workers[rescuer].owner else { return }
        orphans += workers[worker].works
        workers[worker].works = []
        workers[worker].owner = nil
        workers[worker].storage.abandon(owner)
        let storage = workers[rescuer].storage
        let dead = try await storage.owners().filter(\.isDead)
        if dead.contains(where: { $0.id == owner }) {
            _ = try await storage.rescue(dead, by: me)
        } else {
            // The driver knows only of leases.
            try await workers[worker].storage.unregister(owner)
        }
        for id in known.keys.sorted() { note(id, try storage.job(id)?.state) }
    }

    private mutating func continueOrphan() async throws {
        guard let orphan = orphans.popLast() else { return }
        let storage = run.storage
        switch orphan.stage {
        case .claimed:
            let hasBegun = try await storage.begin(orphan.claim, ReplayStart(), by: orphan.owner)
            try run.expect(!hasBegun, "a dead owner began job \(orphan.claim.id)")
        case .begun, .sent:
            let report = ReplayReport(.answered(status: 200), draw: 0)
            let state = try await storage.finish(orphan.claim, report)
            // The rescue may have ended the job, but with another token.
            try run.expect(state == nil, "the outcome of a dead owner was taken for job \(orphan.claim.id)")
        }
    }

    private mutating func hold() async throws {
        let hold = [ReplayHold.key("a"), .key("b"), .queue].randomElement(using: &random) ?? .queue
        if holds.remove(hold) != nil {
            _ = try await run.storage.release(hold, isDryRun: false)
        } else {
            _ = try await run.storage.hold(hold, reason: "", isSignOut: false, isDryRun: false)
            holds.insert(hold)
        }
    }

    // MARK: The end

    /// Sends all jobs that are left, without failures. Then none is open, and none is missing.
    private mutating func drain() async throws {
        for hold in holds { _ = try await run.storage.release(hold, isDryRun: false) }
        holds = []
        for worker in workers.indices {
            guard let owner = workers[worker].owner else { continue }
            try await workers[worker].storage.unregister(owner)
            workers[worker].works = []
            workers[worker].owner = nil
        }
        let owner = try await run.owner(lease: 10_000_000_000)
        for id in known.keys.sorted() {
            let job = try run.job(id)
            note(id, job.state)
            // Only a person can let the later jobs of a strict key pass.
            if job.state.isEnd, job.state != .done {
                _ = try await run.storage.apply(.discard, to: [id], isDryRun: false)
            }
        }
        for _ in 0..<200 {
            while true {
                let claims = try await run.claim(5, by: owner)
                if claims.isEmpty { break }
                for claim in claims {
                    guard try await run.storage.begin(claim, ReplayStart(), by: owner) else { continue }
                    try act(claim.id)
                    note(claim.id, try await run.finish(claim, .answered(status: 200)))
                }
            }
            for job in try run.storage.jobs(ReplayFilter(states: [.needsReview, .dead]), after: 0, limit: 1_000) {
                note(job.id, job.state)
                _ = try await run.storage.apply(.discard, to: [job.id], isDryRun: false)
            }
            let open = try run.storage.count(ReplayFilter(states: [.ready, .waiting, .running, .held]))
            if open == 0 { break }
            try await run.place.advance(by: .seconds(600))
        }
        let counts = try run.storage.counts().filter { $0.value > 0 }
        try run.expectEqual(counts, known.isEmpty ? [:] : [.done: known.count], "the number of jobs")
    }
}

extension ReplayStorageSimulation {
    /// A generator of random numbers (SplitMix64).
    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }
}
