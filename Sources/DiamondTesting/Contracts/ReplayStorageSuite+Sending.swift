import Diamond
import DiamondSQLite
import Foundation

extension ReplayStorageSuite.Check {
    static let sending = [
        Self("jobs are claimed by priority, then in their order") { run in
            let ids = try await run.add(
                run.draft(.post, "a") { $0.replay.priority = -1 }, run.draft(), run.draft(),
                run.draft(.post, "d") { $0.replay.priority = 5 })
            let owner = try await run.owner()
            try run.expectEqual(try await run.claimed(3, by: owner), [ids[3], ids[1], ids[2]], "the claim")
            try run.expectEqual(try await run.claimed(3, by: owner), [ids[0]], "the rest")
            try run.expectEqual(try await run.claimed(3, by: owner), [], "the claim of nothing")
        },
        Self("only jobs of the selected identities and lanes are claimed") { run in
            let anna = try await run.add(run.draft { $0.identity = "anna" })[0]
            let none = try await run.add(run.draft())[0]
            let photos = try await run.add(run.draft { $0.lane = "photos" })[0]
            let owner = try await run.owner()
            try run.expectEqual(try await run.claimed(10, ReplaySelection(in: .none), by: owner), [], "no lane")
            let paused = ReplaySelection(.only(["bert"]), in: .allBut(["photos"]))
            try run.expectEqual(try await run.claimed(10, paused, by: owner), [none], "bert, without photos")
            let all = ReplaySelection(.only(["anna"]))
            try run.expectEqual(try await run.claimed(10, all, by: owner), [anna, photos], "anna")
        },
        Self("no second job of a key is claimed before the first has ended, not in a batch and not by others") { run in
            let policy = ReplayPolicy(.durable, orderingKey: "k")
            let ids = try await run.add(
                run.draft(.post, "a", policy), run.draft(.post, "b", policy), run.draft(.post, "c", policy))
            let free = try await run.add(run.draft())[0]
            let one = try await run.owner()
            let claims = try await run.claim(10, by: one)
            try run.expectEqual(claims.map(\.id), [ids[0], free], "the batch")
            let other = try await run.place.open()
            let two = try await run.owner(in: other)
            let second = try await other.claim(10, ReplaySelection(), by: two)
            try run.expectEqual(second?.jobs ?? [], [], "the claim of another process")
            try await run.begin(claims[0], by: one)
            try run.expectEqual(try await run.finish(claims[0], .answered(status: 200)), .done, "the state")
            try run.expectEqual(try await run.claimed(by: one), [ids[1]], "the next of the key")
        },
        Self("a job that fails stays before the later ones of its key") { run in
            let policy = ReplayPolicy(.durable, orderingKey: "k")
            let ids = try await run.add(run.draft(.put, "a", policy), run.draft(.put, "b", policy))
            let owner = try await run.owner(lease: 3_600_000)
            for round in 1...3 {
                try run.expectEqual(try await run.send(.unsent, by: owner), ids[0], "the job of round \(round)")
                try run.expect(ids[0], is: .waiting, .init(description: "backoff"))
                try run.expectEqual(try run.job(ids[0]).attempts, round, "the attempts")
                try run.expectEqual(try await run.claimed(by: owner), [], "what is claimed during the backoff")
                try await run.place.advance(by: .seconds(60))
            }
            try run.expectEqual(try await run.send(by: owner), ids[0], "the job at last")
            try run.expectEqual(try await run.claimed(by: owner), [ids[1]], "the next")
        },
        Self("a key has one running job, also when jobs are claimed, returned and added at the same time") { run in
            let keys = ["a", "b", "c"]
            var drafts: [ReplayDraft] = []
            for index in 0..<60 {
                drafts.append(try run.draft(.put, "\(index)", ReplayPolicy(.durable, orderingKey: keys[index % 3])))
            }
            let ids = try await run.enqueue(drafts).ids.compactMap { $0 }
            var workers: [any ReplayStorage] = []
            for _ in 0..<4 { workers.append(try await run.place.open()) }
            let sent = Guarded<[ReplayJob.ID]>([])
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in workers { group.addTask { try await run.sendAll(in: worker, log: sent) } }
                try await group.waitForAll()
            }
            let log = sent.withLock { $0 }
            try run.expectEqual(log.sorted(), ids, "what was sent")
            for key in 0..<3 {
                let own = ids.enumerated().filter { $0.offset % 3 == key }.map(\.element)
                try run.expectEqual(log.filter(own.contains), own, "the order of a key")
            }
        },
        Self("jobs of a key have their effects in their order, whoever sends them") { run in
            var drafts: [ReplayDraft] = []
            for index in 0..<20 {
                drafts.append(try run.draft(.put, "\(index)", ReplayPolicy(.durable, orderingKey: "k")))
            }
            let ids = try await run.enqueue(drafts).ids.compactMap { $0 }
            var workers: [(storage: any ReplayStorage, owner: Int64)] = []
            for _ in 0..<3 {
                let storage = try await run.place.open()
                workers.append((storage, try await run.owner(in: storage)))
            }
            var sent: [ReplayJob.ID] = []
            while sent.count < ids.count {
                let before = sent.count
                for (storage, owner) in workers {
                    for claim in try await storage.claim(5, ReplaySelection(), by: owner)?.jobs ?? [] {
                        sent.append(claim.id)
                        _ = try await storage.finish(claim, ReplayReport(.answered(status: 200), draw: 0))
                    }
                }
                try run.expect(sent.count > before, "nothing is claimed after \(sent)")
            }
            try run.expectEqual(sent, ids, "the order")
        },
        Self("in strict order a dead job stops its key until a person decides, otherwise it does not") { run in
            for (order, isStopped) in [(ReplayPolicy.Order.strict, true), (.ordered, false)] {
                let policy = ReplayPolicy(.durable, orderingKey: "\(order)", order: order)
                let ids = try await run.add(run.draft(.post, "a", policy), run.draft(.post, "b", policy))
                let owner = try await run.owner()
                try run.expectEqual(try await run.send(.answered(status: 422), by: owner), ids[0], "the job")
                try run.expect(ids[0], is: .dead, .refused)
                if isStopped {
                    try run.expectEqual(try await run.claimed(by: owner), [], "what passes a dead job")
                    let effects = try await run.storage.apply(.discard, to: [ids[0]], isDryRun: false)
                    try run.expectEqual(effects, [.done(.done)], "the effect")
                }
                try run.expectEqual(try await run.claimed(by: owner), [ids[1]], "the next")
            }
        },
        Self("a claim with an old token neither begins nor ends a job") { run in
            let id = try await run.add(run.draft(.put))[0]
            // Long leases, because on a server real time passes, too.
            let one = try await run.owner(lease: 60_000)
            let old = try await run.claimOne(by: one)
            try await run.begin(old, by: one)
            try await run.place.advance(by: .seconds(61))
            let other = try await run.place.open()
            let two = try await run.owner(in: other)
            let rescue = try await other.rescue(try await other.owners().filter(\.isDead), by: two)
            try run.expectEqual(rescue.owners, 1, "the number of dead owners")
            let new = try await run.claimOne(in: other, by: two)
            try run.expect(new.id == id && new.token > old.token, "the token \(new.token) follows \(old.token)")
            try run.expect(try await !run.storage.begin(old, ReplayStart(), by: one), "a dead owner begins")
            try run.expectEqual(try await run.finish(old, .answered(status: 422)), nil, "the state for the old token")
            try run.expect(id, is: .running)
            let report = ReplayReport(.answered(status: 201), draw: 0)
            for _ in 0..<2 { try run.expectEqual(try await other.finish(new, report), .done, "the state") }
            try run.expectEqual(try await run.finish(old, .answered(status: 200)), nil, "the state for the old token")
            try run.expectEqual(try run.job(id).status, 201, "the status")
        },
        Self("a start is known when a job may begin, and forgotten when it was certainly not processed") { run in
            let policy = ReplayPolicy(.durable, keyLifetime: nil)
            for (isCanceled, state) in [(false, ReplayState.needsReview), (true, .ready)] {
                let id = try await run.add(run.draft(.post, "a", policy))[0]
                let other = try await run.place.open()
                let owner = try await run.owner(in: other)
                let claim = try await run.claimOne(in: other, by: owner)
                try run.expect(try await other.begin(claim, ReplayStart(), by: owner), "the job may not begin")
                if isCanceled {
                    try await other.cancelBegin(claim) { false }
                    try run.expect(try run.job(id).sentAt != nil, "an unwanted change was written")
                    try await other.cancelBegin(claim) { true }
                }
                try run.expect((try run.job(id).sentAt == nil) == isCanceled, "the start is wrong")
                try await other.unregister(owner)
                try run.expect(id, is: state)
                _ = try await run.storage.apply(.discard, to: [id], isDryRun: false)
            }
        },
        Self("a job that is held, or whose queue is, does not begin") { run in
            for hold in [ReplayHold.queue, .lane(.default)] {
                let id = try await run.add(run.draft())[0]
                let owner = try await run.owner()
                let claim = try await run.claimOne(by: owner)
                _ = try await run.storage.hold(hold, reason: "", isSignOut: false, isDryRun: false)
                try run.expect(try await !run.storage.begin(claim, ReplayStart(), by: owner), "a held job begins")
                try run.expect(try run.job(id).state != .running, "the claim did not end")
                _ = try await run.storage.release(hold, isDryRun: false)
                try run.expectEqual(try await run.send(by: owner), id, "the released job")
            }
        },
        Self("a failure is in the history of its job") { run in
            let id = try await run.add(run.draft(.put))[0]
            let owner = try await run.owner(lease: 100_000_000)
            for _ in 0..<12 {
                try await run.send(.answered(status: 503, isTransient: true), by: owner)
                try await run.place.advance(by: .seconds(3_600))
            }
            let failures = try run.storage.failures(of: id)
            try run.expectEqual(failures.map(\.number), Array(3...12), "the numbers")
            try run.expect(failures.allSatisfy { $0.code == "status 503" }, "the codes are \(failures.map(\.code))")
        },
        Self("a job has no more attempts than it may") { run in
            let id = try await run.add(run.draft(.put, "a") { $0.replay.attempts = 2 })[0]
            let owner = try await run.owner(lease: 100_000_000)
            try await run.send(.unsent, by: owner)
            try run.expect(id, is: .waiting)
            try await run.place.advance(by: .seconds(60))
            try await run.send(.unsent, by: owner)
            try run.expect(id, is: .dead, .attemptsUsed)
        },
        Self("jobs that wait for the network are sent when it returns, or a person asks") { run in
            let owner = try await run.owner()
            for retry in [ReplayEarlyRetry.online, .requested] {
                let id = try await run.add(run.draft(.put))[0]
                try run.expect(try await !run.storage.retryEarly(retry), "no job waits")
                try await run.send(.offline, by: owner)
                try run.expect(id, is: .waiting, .offline)
                try run.expect(try await run.storage.retryEarly(retry), "a job waits")
                try run.expectEqual(try await run.send(by: owner), id, "the job")
            }
        },
        Self("a job that cannot connect is sent when its origin has answered") { run in
            let owner = try await run.owner(lease: 100_000_000)
            let id = try await run.add(run.draft(.put))[0]
            for _ in 0..<7 {
                try await run.send(.unsent, by: owner)
                if try run.job(id).attempts < 7 { try await run.place.advance(by: .seconds(150)) }
            }
            try await run.place.advance(by: .seconds(61))
            let others = ReplayEarlyRetry.originsAnswered(["http://other.test"])
            try run.expect(try await !run.storage.retryEarly(others), "another origin has answered")
            try run.expect(try await run.storage.retryEarly(.originsAnswered(["http://api.test"])), "a job waits")
            try run.expect(id, is: .ready)
        },
    ]

    static let owners = [
        Self("a lease ends, and is not renewed then") { run in
            let owner = try await run.owner(lease: 1_000_000)
            try await run.place.advance(by: .seconds(600))
            try run.expect(try await run.storage.renew(owner, lease: 1_000_000, isSuspended: false), "it is alive")
            try await run.place.advance(by: .seconds(600))
            try run.expect(try await run.storage.claim(1, ReplaySelection(), by: owner) != nil, "it is alive")
            try await run.place.advance(by: .seconds(600))
            try run.expect(try await run.storage.claim(1, ReplaySelection(), by: owner) == nil, "it is dead")
            try run.expect(try await !run.storage.renew(owner, lease: 1_000_000, isSuspended: false), "it is dead")
        },
        Self("the jobs of an owner that leaves are sent by others") { run in
            let id = try await run.add(run.draft())[0]
            let one = try await run.owner()
            _ = try await run.claim(by: one)
            try await run.storage.unregister(one)
            let two = try await run.owner()
            try run.expectEqual(try await run.claimed(by: two), [id], "the claim")
            let ids = try await run.storage.owners().map(\.id)
            try run.expect(!ids.contains(one) && ids.contains(two), "the owners are \(ids)")
        },
        Self("an owner whose process has ended is dead within a second") { run in
            let id = try await run.add(run.draft())[0]
            var lost: Int64 = 0
            do {
                let other = try await run.place.open()
                lost = try await run.owner(in: other)
                _ = try await other.claim(1, ReplaySelection(), by: lost)
                try run.expect(id, is: .running)
                other.abandon(lost)
            }
            let me = try await run.owner()
            var dead: [ReplayOwnerRecord] = []
            for _ in 0..<20 where dead.isEmpty {
                dead = try await run.storage.owners().filter(\.isDead)
                // A server may notice the end of a session a moment later.
                if dead.isEmpty { try await run.place.advance(by: .milliseconds(50)) }
            }
            try run.expectEqual(dead.map(\.id), [lost], "the dead owners")
            let rescue = try await run.storage.rescue(dead, by: me)
            try run.expect(rescue.owners == 1 && rescue.ends.isEmpty, "the rescue is \(rescue)")
            try run.expectEqual(try await run.claimed(by: me), [id], "the claim")
        },
        Self("an owner that has renewed its lease is not rescued, nor does a dead owner rescue") { run in
            let living = try await run.owner(lease: 60_000)
            let records = try await run.storage.owners()
            let me = try await run.owner(lease: 1_000)
            try run.expect(records.allSatisfy { !$0.isDead }, "the owner counts as dead")
            try await run.place.advance(by: .seconds(2))
            try run.expectEqual(try await run.storage.rescue(records, by: me).owners, 0, "what a dead owner rescues")
            _ = try await run.storage.renew(living, lease: 60_000, isSuspended: false)
            let next = try await run.owner()
            try run.expectEqual(try await run.storage.rescue(records, by: next).owners, 0, "living owners rescued")
        },
        Self("a job whose owners died three times is dead, unless the system ends them at any time") { run in
            for isSuspended in [false, true] {
                let id = try await run.add(run.draft(.put))[0]
                for _ in 0..<3 {
                    let owner = try await run.owner(lease: 60_000)
                    _ = try await run.storage.renew(owner, lease: 60_000, isSuspended: isSuspended)
                    try await run.begin(run.claimOne(by: owner), by: owner)
                    try await run.place.advance(by: .seconds(61))
                    let me = try await run.owner()
                    _ = try await run.storage.rescue(try await run.storage.owners().filter(\.isDead), by: me)
                    try await run.storage.unregister(me)
                }
                try run.expectEqual(try run.job(id).state == .dead, !isSuspended, "whether the job is dead")
                _ = try await run.storage.apply(.discard, to: [id], isDryRun: false)
            }
        },
    ]
}

extension ReplayStorageRun {
    /// Sends jobs in batches, some in vain, until none is left.
    fileprivate func sendAll(in storage: any ReplayStorage, log: Guarded<[ReplayJob.ID]>) async throws {
        let owner = try await owner(in: storage)
        var misses = 0
        while misses < 50 {
            let claims = try await storage.claim(3, ReplaySelection(), by: owner)?.jobs ?? []
            misses = claims.isEmpty ? misses + 1 : 0
            for (index, claim) in claims.enumerated() {
                try expect(try await storage.begin(claim, ReplayStart(), by: owner), "job \(claim.id) may not begin")
                let isReturned = index == 2 && claim.token == 1
                // Before the write: afterwards, another worker may send the next job.
                if !isReturned { log.withLock { $0.append(claim.id) } }
                let outcome = isReturned ? ReplayOutcome.returned : .answered(status: 200)
                let state = try await storage.finish(claim, ReplayReport(outcome, draw: 0))
                try expectEqual(state, isReturned ? .ready : .done, "the state of job \(claim.id)")
            }
            await Task.yield()
        }
    }
}

extension ReplayOutcome {
    fileprivate static let returned = failed(.returned, code: "cancelled", message: "it was given back")
}
