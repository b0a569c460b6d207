import Diamond
import Foundation

extension ReplayStorageSuite.Check {
    static let adding = [
        Self("a job is there for all instances when it was added") { run in
            let draft = try run.draft(.put, "a?b=1") { $0.tags = ["t"] }
            let id = try await run.add(draft)[0]
            let other = try await run.place.open()
            for storage in [run.storage, other] {
                let job = try run.require(try storage.job(id), "no job")
                try run.expect(job.state == .ready && job.reason.description == "enqueued", "the job is \(job)")
                try run.expect(job.method == "PUT" && job.url.hasSuffix("/a?b=1") && job.tags == ["t"], "\(job)")
                try run.expectEqual(try storage.request(of: id), draft.request, "the request")
            }
            try run.expectEqual(try other.counts().filter { $0.value > 0 }, [.ready: 1], "the count")
        },
        Self("ids increase in the order in which jobs are added") { run in
            let ids = try await run.add(run.draft(), run.draft(), run.draft())
            try run.expect(ids == ids.sorted() && Set(ids).count == 3, "the ids are \(ids)")
            let next = try await run.add(run.draft())[0]
            try run.expect(next > ids[2], "\(next) comes after \(ids[2])")
            try run.expectEqual(try run.storage.lastID(), next, "the last id")
        },
        Self("all jobs of an entry are added, or none") { run in
            let code = try await run.code {
                _ = try await run.enqueue([try run.draft(), try run.draft()], maximumCount: 1)
            }
            try run.expectEqual(code, .queueFull, "the error")
            try run.expectEqual(try run.storage.count(ReplayFilter()), 0, "the number of jobs")
        },
        Self("jobs that are not wanted are not added") { run in
            let entry = ReplayEntry([try run.draft(), try run.draft()], maximumCount: 10)
            let added = try await run.storage.enqueue(entry) { ids in
                !ids.allSatisfy { $0 != nil }
            }
            try run.expectEqual(added.ids, [nil, nil], "the result")
            try run.expectEqual(try run.storage.count(ReplayFilter()), 0, "the number of jobs")
        },
        Self("an entry with ids that is repeated adds its jobs once") { run in
            let first = try await run.storage.reserveIDs(2)
            let drafts = [try run.draft(), try run.draft()]
            let other = try await run.add(run.draft())[0]
            try run.expect(other > first + 1, "a reserved id was given to another job")
            for _ in 0..<2 {
                let added = try await run.enqueue(drafts, ids: [first, first + 1])
                try run.expectEqual(added.ids, [first, first + 1], "the result")
            }
            try run.expectEqual(try run.storage.count(ReplayFilter()), 3, "the number of jobs")
            let owner = try await run.owner()
            for _ in 0..<3 { try await run.send(by: owner) }
            _ = try await run.enqueue(drafts, ids: [first, first + 1])
            try run.expectEqual(try await run.claimed(by: owner), [], "what is sent twice")
        },
        Self("an id that another job has meanwhile is not taken for the entry's own") { run in
            for method in [HTTPRequest.Method.put, .post] {
                let (other, own) = (try run.draft(method, "a"), try run.draft(method, "b"))
                let id = try await run.storage.reserveIDs(1)
                _ = try await run.enqueue([other], ids: [id])
                let added = try await run.enqueue([own], ids: [id]).ids[0] ?? id
                try run.expect(added != id, "a job counts as added, and is not there")
                try run.expectEqual(try run.storage.request(of: id), other.request, "the request of the other job")
                try run.expectEqual(try run.storage.request(of: added), own.request, "the request")
            }
        },
        Self("an owner that adds a job has claimed it, unless another comes first") { run in
            let owner = try await run.owner()
            let policy = ReplayPolicy(.durable, orderingKey: "k")
            let first = try await run.enqueue([try run.draft(.post, "a", policy)], by: owner)
            let claim = try run.require(first.claim, "no claim")
            try run.expect(claim.id, is: .running)
            try await run.begin(claim, by: owner)
            let second = try await run.enqueue([try run.draft(.post, "b", policy)], by: owner)
            try run.expect(second.claim == nil, "a second job of a key was claimed")
            try run.expectEqual(try await run.finish(claim, .answered(status: 201)), .done, "the state")
            try run.expectEqual(try await run.claimed(by: owner), second.ids.compactMap { $0 }, "the next job")
        },
        Self("an owner that is dead claims nothing by adding") { run in
            let owner = try await run.owner(lease: 1_000)
            try await run.place.advance(by: .seconds(2))
            let added = try await run.enqueue([try run.draft()], by: owner)
            try run.expect(added.claim == nil && !added.isOwnerAlive, "the owner counts as alive")
            try run.expect(added.ids[0] ?? 0, is: .ready)
        },
        Self("a delayed job waits for its time") { run in
            let id = try await run.add(run.draft(after: .seconds(30)))[0]
            let owner = try await run.owner()
            try run.expect(id, is: .waiting)
            let time = try run.require(try await run.storage.nextTime(), "no next time")
            let wait = time.rawValue - (try run.storage.moment().time.rawValue)
            try run.expect((20_000...30_000).contains(wait), "the next time is in \(wait) ms")
            try run.expectEqual(try await run.claimed(by: owner), [], "what is sent too early")
            try await run.place.advance(by: .seconds(31))
            try run.expectEqual(try await run.claimed(by: owner), [id], "the claim")
        },
        Self("a job that has expired is not sent") { run in
            let draft = try run.draft(.post, "a", ReplayPolicy(.durable, expiry: .seconds(10)))
            let id = try await run.add(draft)[0]
            let owner = try await run.owner()
            try await run.place.advance(by: .seconds(11))
            let claims = try await run.storage.claim(1, ReplaySelection(), by: owner)
            try run.expect(claims?.jobs.isEmpty == true && claims?.ends == [.dead], "the claim is \(claims as Any)")
            try run.expect(id, is: .dead, .expired)
        },
    ]

    static let naming = [
        Self("an older job with a unique name stays") { run in
            let policy = ReplayPolicy(.durable, unique: "n", uniqueness: .keep)
            let id = try await run.add(run.draft(.put, "a", policy))[0]
            let request = try run.storage.request(of: id)
            try run.expectEqual(try await run.add(run.draft(.put, "b", policy)), [id], "the result")
            try run.expectEqual(try run.storage.request(of: id), request, "the request")
            // Another identity has names of its own.
            let other = try await run.add(run.draft(.put, "b", policy) { $0.identity = "anna" })[0]
            try run.expect(other != id, "two identities share a name")
        },
        Self("a request replaces that of the job with its unique name, which keeps its place") { run in
            let policy = ReplayPolicy(.durable, orderingKey: "k", unique: "n", uniqueness: .replace)
            let id = try await run.add(run.draft(.put, "a", policy))[0]
            try await run.add(run.draft(.post, "c", ReplayPolicy(.durable, orderingKey: "k")))
            let draft = try run.draft(.put, "b", policy)
            try run.expectEqual(try await run.add(draft), [id], "the result")
            try run.expectEqual(try run.storage.request(of: id), draft.request, "the request")
            let url = try run.job(id).url
            try run.expect(url.hasSuffix("/b"), "the URL is \(url)")
            let owner = try await run.owner()
            try run.expectEqual(try await run.claimed(by: owner), [id], "the first of the key")
        },
        Self("a job that may be known is not replaced, but followed") { run in
            let policy = ReplayPolicy(.durable, unique: "n", uniqueness: .replace)
            let id = try await run.add(run.draft(.put, "a", policy))[0]
            let owner = try await run.owner()
            let claim = try await run.claimOne(by: owner)
            try await run.begin(claim, by: owner)
            let next = try await run.add(run.draft(.put, "b", policy))[0]
            try run.expect(next != id, "a running job was replaced")
            try await run.finish(claim, .lost)
            try run.expectEqual(try await run.add(run.draft(.put, "c", policy)), [next], "the job with the name")
        },
        Self("requests with a unique name are merged") { run in
            let policy = ReplayPolicy(.durable, unique: "n", uniqueness: .merge)
            let id = try await run.add(run.draft(.patch, "a", policy, body: ["x": 1, "y": 1]))[0]
            try run.expectEqual(
                try await run.add(run.draft(.patch, "a", policy, body: ["y": 2])), [id], "the result")
            let merged = try run.storage.request(of: id).map { try Request(json: $0) }
            try run.expectEqual(merged?.body?.jsonValue, ["x": 1, "y": 2], "the body")
        },
        Self("a creation and its deletion are merged into nothing") { run in
            let policy = ReplayPolicy(.durable, unique: "n", uniqueness: .merge)
            let id = try await run.add(run.draft(.post, "a", policy))[0]
            let added = try await run.enqueue([try run.draft(.delete, "a", policy)])
            try run.expectEqual(added.ids, [nil], "the result")
            try run.expect(id, is: .done)
        },
        Self("an edit replaces a request, once") { run in
            let id = try await run.add(run.draft(.put, "a"))[0]
            let old = try run.require(try run.storage.request(of: id), "no request")
            let new = try run.draft(.put, "b")
            let edit = try ReplayEdit(of: id, from: Request(json: old), to: new, maximumCount: 10)
            try run.expectEqual(try await run.storage.edit(edit), id, "the result")
            try run.expectEqual(try run.storage.request(of: id), new.request, "the request")
            let code = try await run.code { _ = try await run.storage.edit(edit) }
            try run.expectEqual(code, .wrongState, "the error of an edit that lost a race")
        },
        Self("an edit of a job that may be known adds another") { run in
            let id = try await run.add(run.draft(.put, "a"))[0]
            let owner = try await run.owner()
            try await run.send(.lost, by: owner)
            let old = try run.storage.request(of: id) ?? Data()
            let edit = try ReplayEdit(of: id, from: Request(json: old), to: run.draft(.put, "b"), maximumCount: 10)
            let next = try await run.storage.edit(edit)
            try run.expect(next != id, "the request was replaced")
            try run.expectEqual(try run.storage.request(of: id), old, "the old request")
        },
    ]
}
