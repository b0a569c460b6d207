import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond
@testable import cachectl

@Suite("The pages of the queue", .limit(minutes: 5)) struct QueuePagesTests {
    let shell = Shell()

    /// Adds job 1, which waits, job 2, which is dead, and jobs 3 and 4, which are ready.
    private func fill() async throws {
        let outcomes = [
            ReplayOutcome.failed(.unsent, code: "cannotConnect", message: "refused by the host"),
            .answered(status: 400),
        ]
        for (index, outcome) in outcomes.enumerated() {
            try await add("https://b.example/Orders/\(index + 1)")
            try await shell.attempt(outcome)
        }
        for number in 3...4 { try await add("https://a.example/\(number)") }
    }

    @discardableResult
    private func add(_ url: String, _ change: (inout Request) -> Void = { _ in }) async throws -> ReplayJob.ID? {
        var request = Request(url, method: .post)
        request.replay = ReplayPolicy(.durable)
        change(&request)
        return try await shell.queue().enqueue(request)
    }

    @Test func `shows the depth, what waits longest, errors and holds`() async throws {
        try await fill()
        _ = try await shell("queue", "hold", "--lane", "default", "--reason", "<i>night")
        let pages = try await RunningInspector("--write", shell: shell).enter()
        let page = try await pages.get("/queue")
        #expect(page.status == 200 && page.body.contains("held: the lane &#39;default&#39;"))
        #expect(page.body.contains("&lt;i&gt;night") && page.body.contains("/queue/jobs/1\">job 1</a>"))
        #expect(page.body.contains("/queue/jobs?state=dead\">dead</a></th><td class=\"number\">1</td>"))
        #expect(page.body.contains("/queue/jobs?error=status%20400\">status 400</a>"))
        #expect(page.body.contains("/queue/jobs?lane=default\">default</a></th><td class=\"number\">3</td>"))
        #expect(try await pages.post("/queue/release", ["kind": "lane", "name": "default"]).status == 303)
        #expect(try shell.queue().holds().isEmpty)
        #expect(try await pages.post("/queue/release", ["kind": "lane", "name": "default"]).status == 409)
        let overview = try await pages.get("/").body
        for figure in ["<b>3</b> jobs to send", "<b>1</b> dead jobs", "<b>0</b> jobs in review"] {
            #expect(overview.contains(figure), "\(figure)")
        }
        let live = try pages.inspector.client("GET /queue/live", pages.fields)
        #expect(await live.read(through: "event: queue\ndata: ").hasSuffix("event: queue\ndata: "))
    }

    @Test(arguments: [
        ("", [1, 2, 3, 4]), ("?state=dead", [2]), ("?match=/orders/", [1, 2]), ("?error=refused", [1]),
        ("?match=a.*3", [3]), ("?match=b.example&state=waiting", [1]), ("?lane=other", []), ("?after=2", [3, 4]),
    ]) func `lists the jobs that match`(query: String, ids: [Int]) async throws {
        try await fill()
        let page = try await RunningInspector(shell: shell).enter().get("/queue/jobs\(query)")
        #expect(page.body.matches(of: #/href="/queue/jobs/(\d+)"/#).compactMap { Int($0.1) } == ids)
        #expect(page.body.contains("No job matches") == ids.isEmpty && !page.body.contains("/queue/bulk"))
    }

    @Test func `lists more jobs on further pages`() async throws {
        for number in 1...51 { try await add("https://a.example/\(number)") }
        let pages = try await RunningInspector(shell: shell).enter()
        let first = try await pages.get("/queue/jobs?state=ready").body
        #expect(first.contains("/queue/jobs/50\"") && !first.contains("/queue/jobs/51\""))
        let next = try #require(first.firstMatch(of: #/href="([^"]*after=[1-9]\d*)"/#)).1
        let rest = try await pages.get(String(next).unescaped).body
        #expect(rest.contains("/queue/jobs/51\"") && !rest.contains("/queue/jobs/50\""))
    }

    @Test(arguments: ["/queue/jobs?state=alive", "/queue/jobs?match=*", "/queue/jobs/none", "/queue/jobs/99"])
    func `says what is wrong with an address`(path: String) async throws {
        try await fill()
        let page = try await RunningInspector(shell: shell).enter().get(path)
        #expect([400, 404].contains(page.status) && page.body.contains("notice bad"))
    }

    @Test(arguments: [
        "/queue/hold", "/queue/release", "/queue/bulk", "/queue/jobs/3/retry", "/queue/jobs/3/hold",
        "/queue/jobs/4/release",
        "/queue/jobs/3/discard", "/queue/jobs/2/redrive", "/queue/jobs/3/edit",
        "/queue/jobs/3/resend",
    ]) func `refuses an action without --write`(path: String) async throws {
        try await fill()
        _ = try await shell("queue", "hold", "4")
        let before = try shell.queue().jobs(ReplayFilter(includesSignedOut: true))
        let fields = [
            "kind": "queue", "action": "discard", "jobs": "", "confirmed": "yes", "base": "{}", "request": "{}",
        ]
        let answer = try await RunningInspector(shell: shell).enter().post(path, fields)
        #expect(answer.status == 403 && answer.body.contains("--write"))
        #expect(try shell.queue().jobs(ReplayFilter(includesSignedOut: true)) == before)
    }

    @Test(arguments: [
        ("1", "retry", ReplayState.ready), ("1", "hold", .held), ("2", "redrive", .ready), ("3", "discard", .done),
    ]) func `applies an action to a job`(job: String, action: String, state: ReplayState) async throws {
        try await fill()
        let pages = try await RunningInspector("--write", shell: shell).enter()
        #expect(try await pages.get("/queue/jobs/\(job)").body.contains("/queue/jobs/\(job)/\(action)\""))
        let answer = try await pages.post("/queue/jobs/\(job)/\(action)", ["confirmed": "yes"])
        #expect(answer.status == 303)
        #expect(try shell.queue().job(#require(Int64(job)))?.state == state)
        let shown = try await pages.get(#require(answer.values("Location").first))
        #expect(shown.body.contains("role=\"status\">") && shown.body.contains(" job \(job)</p>"))
    }

    @Test func `adds the request of a job that is done as a new job, if that is confirmed`() async throws {
        try await fill()
        try await shell.queue().discard(3)
        let pages = try await RunningInspector("--write", shell: shell).enter()
        #expect(try await pages.get("/queue/jobs/3").body.contains("/queue/jobs/3/resend\""))
        #expect(try await pages.post("/queue/jobs/3/resend", [:]).status == 409)
        #expect(try shell.queue().job(5) == nil)
        let answer = try await pages.post("/queue/jobs/3/resend", ["confirmed": "yes"])
        #expect(answer.status == 303 && answer.values("Location") == ["/queue/jobs/5?added=3"])
        #expect(try shell.queue().job(5)?.url == "https://a.example/3")
        #expect(try await pages.get("/queue/jobs/5?added=3").body.contains("the request of job 3</p>"))
        #expect(try await pages.post("/queue/jobs/2/resend", ["confirmed": "yes"]).status == 409)
        #expect(try await pages.post("/queue/jobs/99/resend", ["confirmed": "yes"]).status == 404)
    }

    @Test func `says why an action is refused, and discards only what is confirmed`() async throws {
        try await fill()
        let pages = try await RunningInspector("--write", shell: shell).enter()
        let refused = try await pages.post("/queue/jobs/2/retry", [:])
        #expect(refused.status == 409 && refused.body.contains("it ended by refused, the last attempt by status 400"))
        #expect(try await pages.post("/queue/jobs/3/discard", [:]).status == 409)
        #expect(try shell.queue().job(3)?.state == .ready)
        #expect(try await pages.post("/queue/jobs/99/retry", [:]).status == 404)
        #expect(try await pages.post("/queue/jobs/3/forget", [:]).status == 404)
    }

    @Test func `changes all jobs that match only if they are the confirmed ones`() async throws {
        try await fill()
        let pages = try await RunningInspector("--write", shell: shell).enter()
        let fields = ["match": "a.example", "action": "discard"]
        let question = try await pages.post("/queue/bulk", fields)
        #expect(question.status == 200 && question.body.contains("discard 2 jobs"))
        #expect(question.body.contains("The first one is job 3, the last one job 4."))
        // As many as before, but another one.
        try await shell.queue().discard(3)
        try await add("https://a.example/5")
        let conflict = try await pages.post("/queue/bulk", fields.merging(["jobs": question.jobs]) { $1 })
        #expect(conflict.status == 409 && conflict.body.contains("not those that you confirmed. Nothing was done."))
        #expect(try shell.queue().counts()[.done] == 1 && conflict.jobs != question.jobs)
        let count = { (jobs: Int) in "lane=default\">default</a></th><td class=\"number\">\(jobs)</td>" }
        #expect(try await pages.get("/queue").body.contains(count(3)))
        let done = try await pages.post("/queue/bulk", fields.merging(["jobs": conflict.jobs]) { $1 })
        #expect(done.status == 200 && done.body.contains("discarded 2 jobs"))
        #expect(try shell.queue().counts()[.done] == 3)
        // The page does not show what was there before.
        #expect(try await pages.get("/queue").body.contains(count(1)))
    }

    @Test(arguments: [
        ("lane", "images", ReplayHold.lane("images")), ("key", "cart 7 ", .key("cart 7 ")),
        ("identity", "alice", .identity("alice")), ("queue", "", .queue),
    ]) func `holds a part of the queue`(kind: String, name: String, hold: ReplayHold) async throws {
        try await fill()
        let pages = try await RunningInspector("--write", shell: shell).enter()
        #expect(try await pages.get("/queue").body.contains("action=\"/queue/hold\""))
        let fields = ["kind": kind, "name": name, "reason": "night"]
        #expect(try await pages.post("/queue/hold", fields).status == 303)
        #expect(try shell.queue().holds().map(\.hold) == [hold] && shell.queue().holds().first?.reason == "night")
        #expect(try await pages.post("/queue/release", fields).status == 303)
        #expect(try shell.queue().holds().isEmpty)
    }

    @Test(arguments: [("lane", ""), ("queue", "images"), ("engine", "a"), ("", "")])
    func `refuses a hold of nothing`(kind: String, name: String) async throws {
        try await fill()
        let pages = try await RunningInspector("--write", shell: shell).enter()
        #expect(try await pages.post("/queue/hold", ["kind": kind, "name": name]).status == 400)
        #expect(try shell.queue().holds().isEmpty)
    }

    @Test func `says why a live page cannot be read, and goes on when it can`() async throws {
        let pages = try await RunningInspector(shell: shell).enter()
        let live = try pages.inspector.client("GET /queue/live", pages.fields)
        let problem = await live.read(through: "\n\nevent: problem\ndata: ")
        #expect(problem.contains(" 200 ") && !problem.contains("event: queue"))
        try await fill()
        #expect(await live.read(through: "event: queue\ndata: ").hasSuffix("event: queue\ndata: "))
    }

    @Test func `edits a request, and loses nothing if it was changed meanwhile`() async throws {
        try await add("https://a.example/1") { $0.body = .json(["id": 9_007_199_254_740_993]) }
        let pages = try await RunningInspector("--write", shell: shell).enter()
        let form = try await pages.get("/queue/jobs/1/edit").body
        let base = String(try #require(form.firstMatch(of: #/name="base" value="([0-9a-f]{64})"/#)).1)
        let stored = try #require(form.firstMatch(of: #/<textarea[^>]*>\n([^<]*)</#)).1.unescaped
        let text = stored.replacing("9007199254740993", with: "9007199254740995")
        let edit = { text in try await pages.post("/queue/jobs/1/edit", ["base": base, "request": text]) }
        #expect(try await edit(text).values("Location") == ["/queue/jobs/1?edited=1"])
        #expect(try await pages.get("/queue/jobs/1").body.contains("9007199254740995"))
        let mine = stored.replacing("9007199254740993", with: "9007199254740997")
        let conflict = try await edit(mine)
        #expect(conflict.status == 409 && conflict.body.contains("was changed meanwhile"))
        #expect(conflict.body.unescaped.contains(mine))
        #expect(conflict.body.contains("<ins>") && conflict.body.contains("9007199254740995"))
        let fresh = String(try #require(conflict.body.firstMatch(of: #/name="base" value="([0-9a-f]{64})"/#)).1)
        let malformed = try await pages.post("/queue/jobs/1/edit", ["base": fresh, "request": "{\"url\": <typed"])
        #expect(malformed.status == 400 && malformed.body.contains("&lt;typed"))
        #expect(try shell.queue().request(of: 1)?.body == .json(["id": 9_007_199_254_740_995]))
    }

    @Test func `edits a large request`() async throws {
        let name = String(repeating: "\"", count: 1 << 20)
        try await add("https://a.example/1") { $0.body = .json(["name": .string(name)]) }
        let pages = try await RunningInspector("--write", shell: shell).enter()
        let form = try await pages.get("/queue/jobs/1/edit").body
        let base = String(try #require(form.firstMatch(of: #/name="base" value="([0-9a-f]{64})"/#)).1)
        let text = Output.text(of: try #require(try shell.queue().request(of: 1)), isPretty: true)
        let edit = ["base": base, "request": text.replacing("a.example/1", with: "a.example/2")]
        #expect(try await pages.post("/queue/jobs/1/edit", edit).status == 303)
        #expect(try shell.queue().job(1)?.url == "https://a.example/2")
    }

    @Test func `escapes names, and shows no secret`() async throws {
        let hostile = "\"><script>alert(1)</script>"
        try await add("https://a.example/1") {
            $0.replay.orderingKey = hostile
            $0.lane = Lane(hostile)
            $0.tags = [hostile]
            $0.credentials = [.bearer(.secret("api-token"))]
        }
        let pages = try await RunningInspector(options: [], shell: shell, environment: ["API_TOKEN": "hunter2"]).enter()
        for path in ["/queue", "/queue/jobs", "/queue/jobs/1", "/queue/jobs/1/edit"] {
            let page = try await pages.get(path)
            #expect(page.status == 200 && !page.body.contains("<script>alert") && !page.body.contains("hunter2"))
            #expect(!page.body.contains(" style=") && !page.body.contains(" onclick="))
        }
        let page = try await pages.get("/queue/jobs/1").body
        #expect(page.contains("secret api-token: API_TOKEN is set") && page.contains("&lt;script&gt;alert(1)"))
    }
}

extension Browser {
    /// Sends the fields of a form.
    fileprivate func post(_ path: String, _ fields: [String: String]) async throws -> RawAnswer {
        let items = fields.map { "\($0)=\($1.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")" }
        return try await post(path, items.joined(separator: "&"))
    }
}

extension RawAnswer {
    /// The jobs that a question is about.
    fileprivate var jobs: String {
        body.firstMatch(of: #/name="jobs" value="([0-9a-f]{64})"/#).map { String($0.1) } ?? ""
    }
}

extension StringProtocol {
    /// The text without the escapes of HTML.
    fileprivate var unescaped: String {
        let escapes = [("&quot;", "\""), ("&#39;", "'"), ("&#96;", "`"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")]
        return escapes.reduce(String(self)) { $0.replacing($1.0, with: $1.1) }
    }
}
