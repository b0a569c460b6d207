import Diamond
import DiamondSQLite
import Foundation
import HTTPTypes

extension ReplayStorageSuite.Check {
    static let managing = [
        Self("actions change the jobs whose states allow them, and no others") { run in
            let storage = run.storage
            let ids = try await run.add(run.draft(after: .seconds(60)), run.draft())
            let missing = ids[1] + 1_000
            try run.expectEqual(
                try await storage.apply(.hold, to: [ids[0], missing], isDryRun: false), [.done(.held), .noJob], "hold")
            try run.expectEqual(
                try await storage.apply(.release, to: ids, isDryRun: false), [.done(.waiting), .wrongState(.ready)],
                "release")
            try run.expectEqual(
                try await storage.apply(.retry, to: ids, isDryRun: false), [.done(.ready), .done(.ready)], "retry")
            let owner = try await run.owner()
            let claim = try await run.claimOne(by: owner)
            try run.expectEqual(
                try await storage.apply(.discard, to: [claim.id], isDryRun: false), [.wrongState(.running)], "discard")
            try await run.finish(claim, .answered(status: 422))
            try run.expectEqual(
                try await storage.apply(.redrive, to: [claim.id], isDryRun: false), [.done(.ready)], "redrive")
            try run.expect(try run.job(claim.id).attempts == 0, "the attempts are counted on")
            try run.expectEqual(
                try await storage.apply(.discard, to: [claim.id], isDryRun: false), [.done(.done)], "discard")
            try run.expect(claim.id, is: .done, .discarded)
        },
        Self("a redriven job keeps its place, and its name if no other job has taken it") { run in
            let policy = ReplayPolicy(.durable, orderingKey: "k", unique: "n", uniqueness: .replace)
            let id = try await run.add(run.draft(.put, "a", policy))[0]
            let later = try await run.add(run.draft(.put, "z", ReplayPolicy(.durable, orderingKey: "k")))[0]
            let owner = try await run.owner()
            try await run.send(.answered(status: 422), by: owner)
            let effects = try await run.storage.apply(.redrive, to: [id], isDryRun: false)
            try run.expectEqual(effects, [.done(.ready)], "the effect")
            try run.expectEqual(try await run.send(.answered(status: 422), by: owner), id, "the first of the key")
            let other = try await run.add(run.draft(.put, "b", policy))[0]
            try run.expect(other != id, "a dead job was replaced")
            let refusals = try await run.storage.apply(.redrive, to: [id], isDryRun: false)
            try run.expectEqual(refusals, [.notUnique], "the effect")
            try run.expectEqual(try await run.claimed(by: owner), [later], "the first of the key")
        },
        Self("a dry run changes nothing") { run in
            let id = try await run.add(run.draft())[0]
            let storage = run.storage
            try run.expectEqual(
                try await storage.apply(.discard, to: [id], isDryRun: true), [.done(.done)], "the effect")
            try run.expectEqual(
                try await storage.hold(.lane(.default), reason: "", isSignOut: false, isDryRun: true), 1, "the jobs")
            // The drivers of other packages have no preview.
            let preview = try await (try? storage.inspection)?.claimPreview(10, of: .all)
            try run.expectEqual(preview?.transitions.map(\.jobID) ?? [id], [id], "the claimed jobs")
            try run.expect(id, is: .ready)
            try run.expectEqual(try storage.holds().count, 0, "the number of holds")
            let owner = try await run.owner()
            try run.expectEqual(try await run.claimed(by: owner), [id], "the claim")
        },
        Self("a hold covers the jobs that are there, and those that are added, until it is released") { run in
            let holds = [ReplayHold.key("k"), .identity("anna"), .lane("photos")]
            for hold in holds {
                let draft = try run.draft(.post, "a", ReplayPolicy(.durable, orderingKey: hold == holds[0] ? "k" : nil))
                {
                    if hold == holds[1] { $0.identity = "anna" }
                    if hold == holds[2] { $0.lane = "photos" }
                }
                let first = try await run.add(draft)[0]
                let free = try await run.add(run.draft())[0]
                let count = try await run.storage.hold(hold, reason: "r", isSignOut: false, isDryRun: false)
                try run.expectEqual(count, 1, "the number of newly held jobs")
                let active = try run.storage.holds()
                try run.expect(active.map(\.hold) == [hold] && active[0].reason == "r", "the holds are \(active)")
                let second = try await run.add(draft)[0]
                for id in [first, second] { try run.expect(id, is: .held, .init(description: "held")) }
                let owner = try await run.owner()
                try run.expectEqual(try await run.send(by: owner), free, "the job that is not held")
                try run.expectEqual(try await run.claimed(by: owner), [], "what is held")
                try run.expectEqual(try await run.storage.release(hold, isDryRun: false), 2, "the released jobs")
                for id in [first, second] { try run.expectEqual(try await run.send(by: owner), id, "the job") }
            }
        },
        Self("a job that two holds cover stays held when one is released") { run in
            let id = try await run.add(run.draft { $0.identity = "anna" })[0]
            for hold in [ReplayHold.identity("anna"), .lane(.default)] {
                _ = try await run.storage.hold(hold, reason: "", isSignOut: false, isDryRun: false)
            }
            _ = try await run.storage.release(.lane(.default), isDryRun: false)
            try run.expect(id, is: .held)
            _ = try await run.storage.release(.identity("anna"), isDryRun: false)
            try run.expect(id, is: .ready)
        },
        Self("nothing is claimed while the queue is held, by no process") { run in
            let id = try await run.add(run.draft())[0]
            let other = try await run.place.open()
            let owner = try await run.owner(in: other)
            for hold in [ReplayHold.queue, .engine] {
                _ = try await run.storage.hold(hold, reason: "", isSignOut: false, isDryRun: false)
                let claims = try await other.claim(1, ReplaySelection(), by: owner)
                try run.expect(claims?.jobs.isEmpty == true, "a held job was claimed")
                try run.expect(id, is: .ready)
                _ = try await run.storage.release(hold, isDryRun: false)
            }
            try run.expectEqual(try await run.claimOne(in: other, by: owner).id, id, "the claim")
        },
        Self("jobs that wait for a sign-in are released with their identity") { run in
            let id = try await run.add(run.draft { $0.identity = "anna" })[0]
            let owner = try await run.owner()
            try await run.send(.answered(status: 401), by: owner)
            try run.expect(id, is: .held, .unauthorized)
            _ = try await run.storage.release(.identity("anna"), isDryRun: false)
            try run.expect(id, is: .ready)
        },
        Self("the jobs of an identity that has signed out are not listed, and can be erased") { run in
            let owner = try await run.owner()
            let done = try await run.add(run.draft { $0.identity = "anna" })[0]
            try await run.send(by: owner)
            let open = try await run.add(run.draft { $0.identity = "anna" })[0]
            let other = try await run.add(run.draft())[0]
            let hold = ReplayHold.identity("anna")
            _ = try await run.storage.hold(hold, reason: "signed out", isSignOut: true, isDryRun: false)
            try run.expectEqual(try run.ids(ReplayFilter()), [other], "the listed jobs")
            try run.expectEqual(
                try run.ids(ReplayFilter(includesSignedOut: true)), [done, open, other], "all jobs")
            try await run.storage.eraseJobs(of: "anna", discardingOpen: false)
            try run.expectEqual(try run.ids(ReplayFilter(identity: "anna")), [open], "what is left")
            try await run.storage.eraseJobs(of: "anna", discardingOpen: true)
            try run.expectEqual(try run.ids(ReplayFilter(identity: "anna")), [], "what is left")
            try run.expectEqual(try run.storage.holds().count, 0, "the number of holds")
        },
        Self("maintenance deletes ended jobs beyond the retention, and no open ones") { run in
            let owner = try await run.owner(lease: 1_000_000_000)
            let ids = try await run.add(run.draft(), run.draft(), run.draft(after: .seconds(1_000_000)))
            try await run.send(by: owner)
            try await run.send(.answered(status: 422), by: owner)
            var retention = ReplayRetention()
            retention.done = .init(age: .seconds(60), count: 100)
            try await run.storage.maintain(retention)
            try run.expectEqual(try run.ids(ReplayFilter()), ids, "the jobs before the time")
            try await run.place.advance(by: .seconds(61))
            try await run.storage.maintain(retention)
            try run.expectEqual(try run.ids(ReplayFilter()), Array(ids[1...]), "the jobs after the time")
            let next = try await run.add(run.draft())[0]
            try run.expect(next > ids[2], "an id was used twice")
        },
        Self("an intact queue has no damage") { run in
            try await run.add(run.draft(), run.draft(.put, "a", ReplayPolicy(.durable, orderingKey: "k")))
            let owner = try await run.owner()
            try await run.send(by: owner)
            // The drivers of other packages do not look for it.
            let damage = try await (try? run.storage.inspection)?.check()
            try run.expectEqual(damage ?? [], [], "the damage")
        },
    ]

    static let reading = [
        Self("a filter selects jobs, page by page") { run in
            let ids = try await run.add(
                run.draft(.put, "a", ReplayPolicy(.durable, orderingKey: "k")) { $0.tags = ["x", "y"] },
                run.draft(.put, "b") { ($0.identity, $0.lane) = ("anna", "slow") }, run.draft(after: .seconds(60)))
            let filters: [(ReplayFilter, [ReplayJob.ID])] = [
                (ReplayFilter(states: [.waiting]), [ids[2]]), (ReplayFilter(states: [.waiting, .ready]), ids),
                (ReplayFilter(orderingKey: "k"), [ids[0]]), (ReplayFilter(identity: "anna"), [ids[1]]),
                (ReplayFilter(host: "API.test"), ids), (ReplayFilter(host: "other.test"), []),
                (ReplayFilter(tag: "y"), [ids[0]]), (ReplayFilter(lane: "slow"), [ids[1]]),
                (ReplayFilter(enqueuedBefore: .distantPast), []),
            ]
            for (filter, expected) in filters {
                try run.expectEqual(try run.ids(filter), expected, "the jobs of \(filter)")
                try run.expectEqual(try run.storage.count(filter), expected.count, "the number of \(filter)")
                try run.expectEqual(
                    try run.storage.ids(filter, after: 0, limit: 10), expected, "the ids of \(filter)")
            }
            let page = try run.storage.jobs(ReplayFilter(), after: ids[0], limit: 1)
            try run.expectEqual(page.map(\.id), [ids[1]], "the second page")
        },
        Self("a job is shown as it was added") { run in
            let policy = ReplayPolicy(.durable, orderingKey: "k", order: .strict, metadata: ["a": 1])
            let draft = try run.draft(.post, "a", policy) { request in
                request.lane = "photos"
                request.replay.priority = 3
            }
            let id = try await run.add(draft)[0]
            let job = try run.job(id)
            let moment = try run.storage.moment()
            try run.expect(job.orderingKey == "k" && job.order == .strict && job.priority == 3, "\(job)")
            try run.expect(job.lane == "photos" && job.metadata == ["a": 1] && job.host == "api.test", "\(job)")
            try run.expect(job.idempotencyKey != nil && job.expiresAt != nil && job.isHead, "\(job)")
            let age = moment.date(of: moment.time).timeIntervalSince(job.enqueuedAt)
            try run.expect((-1..<60).contains(age), "the job was added \(age) s ago")
        },
        Self("ordering keys are listed with their heads") { run in
            let ids = try await run.add(
                run.draft(.put, "a", ReplayPolicy(.durable, orderingKey: "a")),
                run.draft(.put, "b", ReplayPolicy(.durable, orderingKey: "b")),
                run.draft(.put, "c", ReplayPolicy(.durable, orderingKey: "a")))
            _ = try await run.storage.apply(.hold, to: [ids[1]], isDryRun: false)
            let all = try run.storage.keys(limit: 10, onlyBlocked: false, includesSignedOut: true)
            let counts = Dictionary(all.map { ($0.head.id, $0.count) }) { $0 + $1 }
            try run.expectEqual(counts, [ids[0]: 2, ids[1]: 1], "the number of jobs of each head")
            let blocked = try run.storage.keys(limit: 10, onlyBlocked: true, includesSignedOut: true)
            try run.expectEqual(blocked.map(\.head.id), [ids[1]], "the blocked heads")
        },
        Self("changes are found by their time, and counted by their verbs") { run in
            let id = try await run.add(run.draft())[0]
            try await run.place.advance(by: .seconds(100))
            let start = try run.storage.moment().time
            let next = try await run.add(run.draft())[0]
            try run.expectEqual(try run.storage.changed(since: start).map(\.id), [next], "the later change")
            let earlier = QueueTime(rawValue: start.rawValue - 200_000)
            try run.expectEqual(try run.storage.changed(since: earlier).map(\.id), [id, next], "all changes")
            // The drivers of other packages do not count them.
            guard let inspection = try? run.storage.inspection else { return }
            let counts = try inspection.history(since: .distantPast).filter { $0.verb == "enqueue" }
            try run.expectEqual(counts.map(\.count).reduce(0, +), 2, "the number of enqueued jobs")
        },
        Self("an instance reports its own changes, once, before its calls return") { run in
            let commits = Reported()
            run.storage.observe { commits.add($0) }
            let id = try await run.add(run.draft())[0]
            try run.expectEqual(commits.verbs(of: id), ["enqueue"], "the transitions")
            let owner = try await run.owner()
            try await run.send(by: owner)
            try run.expectEqual(commits.verbs(of: id), ["enqueue", "claim", "finish"], "the transitions")
            let other = try await run.place.open()
            _ = try await other.enqueue(ReplayEntry([try run.draft()], maximumCount: 10), isWanted: nil)
            try run.expectEqual(commits.count, 3, "the number of transitions")
        },
        Self("jobs that could have been sent for a minute count as unsent, until an owner runs jobs") { run in
            try await run.add(run.draft(), run.draft())
            try run.expectEqual(try run.storage.unsentCount(besides: nil), 0, "the number at first")
            try await run.place.advance(by: .seconds(61))
            try run.expectEqual(try run.storage.unsentCount(besides: nil), 2, "the number after a minute")
            let owner = try await run.owner()
            _ = try await run.claimOne(by: owner)
            try run.expectEqual(try run.storage.unsentCount(besides: nil), 0, "the number while one is sent")
            try run.expectEqual(try run.storage.unsentCount(besides: owner), 1, "the number besides the owner")
        },
        Self("an answer is stored until it was consumed") { run in
            let storage = run.storage
            let draft = try run.draft { $0.replay.storesAnswer = true }
            let id = try await run.add(draft)[0]
            try run.expectEqual(try storage.answer(to: id), ReplayStoredAnswer.none, "the answer before it is there")
            let owner = try await run.owner()
            let claim = try await run.claimOne(by: owner)
            let answer = ReplayAnswer(
                status: .created, location: "/notes/7", headers: [.eTag: "\"a\""], body: Data([1, 2]))
            _ = try await storage.finish(claim, ReplayReport(.answered(status: 201), answer: answer, draw: 0))
            guard case .answer(answer, _)? = try storage.answer(to: id) else {
                throw ContractViolation("the answer is \(try storage.answer(to: id) as Any)")
            }
            try run.expectEqual(try storage.jobsStoringAnswers(among: nil).map(\.job.id), [id], "the jobs")
            var retention = ReplayRetention()
            retention.done = .init(age: .zero, count: 0)
            try await run.place.advance(by: .seconds(1))
            try await storage.maintain(retention)
            try run.expect(id, is: .done)
            try await storage.consumeAnswers(of: [id], retaining: [id])
            try run.expectEqual(try storage.jobsStoringAnswers(among: [id]).map(\.isConsumed), [true], "consumed")
            try await storage.consumeAnswers(of: [id], retaining: [])
            try run.expectEqual(try storage.answer(to: id), nil, "the answer")
        },
        Self("a job waits for the id of an object that another creates, and gets it from the answer") { run in
            let name = "local:00000000-0000-4000-8000-000000000001"
            let creation = try run.draft {
                $0.replay.creates = ReplayCreation(name, paths: [["id"]])
                $0.replay.storesAnswer = true
            }
            let change = try run.draft(.post, "b", body: ["of": .string(name)]) { $0.replay.awaits = [name] }
            let code = try await run.code { _ = try await run.enqueue([change]) }
            try run.expectEqual(code, .missingObject, "the error without a creator")
            let ids = try await run.add(creation, change)
            try run.expect(ids[1], is: .held, .awaitingID)
            try run.expectEqual(try run.job(ids[1]).awaitedJobs, [ids[0]], "the awaited jobs")
            try run.expectEqual(try run.storage.ids(of: [name]), [name: .null], "the id before it is known")
            let owner = try await run.owner()
            let claim = try await run.claimOne(by: owner)
            let answer = ReplayAnswer(status: .created, body: Data(#"{"id": 7}"#.utf8))
            _ = try await run.storage.finish(claim, ReplayReport(.answered(status: 201), answer: answer, draw: 0))
            try run.expectEqual(try run.storage.ids(of: [name]), [name: 7], "the id")
            let next = try await run.claimOne(by: owner)
            try run.expectEqual(next.id, ids[1], "the next job")
            try run.expectEqual(try Request(json: next.request).body?.jsonValue, ["of": 7], "its body")
        },
        Self("a watch is told what other instances do, or says that it is not") { run in
            let notes = Reported()
            let watch = run.storage.watch(.jobs) { notes.add(ReplayCommit()) }
            let other = try await run.place.open()
            _ = try await other.enqueue(ReplayEntry([try run.draft()], maximumCount: 10), isWanted: nil)
            guard watch.reportsChanges else { return }
            for _ in 0..<200 where notes.calls == 0 { try await Task.sleep(for: .milliseconds(10)) }
            try run.expect(notes.calls > 0, "no change was reported within two seconds")
        },
    ]
}

/// The commits that an observer was told of.
private final class Reported: Sendable {
    private let commits = Guarded<[ReplayCommit]>([])

    func add(_ commit: ReplayCommit) { commits.withLock { $0.append(commit) } }

    var calls: Int { commits.withLock { $0.count } }
    var count: Int { commits.withLock { $0.reduce(0) { $0 + $1.transitions.count } } }

    func verbs(of id: ReplayJob.ID) -> [String] {
        commits.withLock { $0.flatMap(\.transitions).filter { $0.jobID == id }.map(\.verb.description) }
    }
}

extension ReplayStorageRun {
    fileprivate func ids(_ filter: ReplayFilter) throws -> [ReplayJob.ID] {
        try storage.jobs(filter, after: 0, limit: 100).map(\.id)
    }
}
