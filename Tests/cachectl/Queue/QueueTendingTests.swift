import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl queue, changing jobs", .limit(minutes: 5)) struct QueueTendingTests {
    let cachectl = Shell()

    /// Adds three ready jobs, after one job for each of the outcomes.
    private func fill(_ outcomes: [ReplayOutcome] = []) async throws {
        for outcome in outcomes {
            _ = try await cachectl("queue", "add", "-X", "POST", "https://b.example/")
            try await cachectl.attempt(outcome)
        }
        for number in 1...3 { _ = try await cachectl("queue", "add", "https://a.example/\(number)", "--key", "k") }
    }

    private func states() throws -> [String] { try cachectl.queue().jobs().map(\.state.description) }

    @Test(
        arguments: [
            (["retry", "1"], "retried 1 job\n4 ready, 1 dead\n"),
            (["retry", "--all", "--dry-run"], "would retry 4 jobs: 1, 3-5\n3 ready, 1 waiting, 1 dead\n"),
            (["discard", "--key", "k", "--yes"], "discarded 3 jobs\n1 waiting, 3 done, 1 dead\n"),
            (["discard", "2", "3"], "discarded 2 jobs\n2 ready, 1 waiting, 2 done\n"),
            (["discard", "--state", "dead", "--dry-run"], "would discard 1 job: 2\n3 ready, 1 waiting, 1 dead\n"),
            (["redrive", "--state", "dead", "--yes"], "redriven 1 job\n4 ready, 1 waiting\n"),
            (["redrive", "--host", "a.example"], "redriven 0 jobs\n3 ready, 1 waiting, 1 dead\n"),
            (["hold", "3", "1"], "held 2 jobs\n2 ready, 2 held, 1 dead\n"),
            (["hold", "--key", "k", "--jobs", "--yes"], "held 3 jobs\n1 waiting, 3 held, 1 dead\n"),
            (["hold", "--key", "k"], "held the ordering key 'k', 3 jobs of it\n1 waiting, 3 held, 1 dead\n"),
            (
                ["hold", "--key", "k", "--dry-run"],
                "would hold the ordering key 'k', 3 jobs of it\n3 ready, 1 waiting, 1 dead\n"
            ),
            (["hold", "--whole"], "held the queue: none of its jobs is sent\n3 ready, 1 waiting, 1 dead\n"),
            (["hold", "--engine"], "held the store's engines: none of its jobs is sent\n3 ready, 1 waiting, 1 dead\n"),
            (["hold", "--lane", "default"], "held the lane 'default', 4 jobs of it\n4 held, 1 dead\n"),
        ] as [([String], String)])
    func `applies a command to the selected jobs, and prints their number and the new counts`(
        arguments: [String],
        output: String
    ) async throws {
        let lost = ReplayOutcome.failed(.unsent, code: "cannotConnect", message: "refused")
        try await fill([lost, .answered(status: 400)])
        let before = try cachectl.queue().jobs()
        let outcome = try await cachectl(["queue"] + arguments)
        #expect(
            outcome.status == 0 && outcome.text == output && outcome.errors.isEmpty, "\(outcome.text)\(outcome.errors)")
        if arguments.contains("--dry-run") { #expect(try cachectl.queue().jobs() == before) }
    }

    @Test func `releases held ordering keys and held jobs`() async throws {
        try await fill()
        _ = try await cachectl("queue", "hold", "--key", "k", "--reason", "they sign in")
        _ = try await cachectl("queue", "add", "https://a.example/4", "--key", "k")
        #expect(try states() == ["held", "held", "held", "held"])
        #expect(
            try await cachectl("queue", "release", "1").errors.contains(
                "release applies to jobs that are held themselves"))
        let trial = try await cachectl("queue", "release", "--key", "k", "--dry-run")
        #expect(trial.text == "would release the ordering key 'k', 4 jobs of it\n4 held\n")
        let released = try await cachectl("queue", "release", "--key", "k")
        #expect(released.text == "released the ordering key 'k', 4 jobs of it\n4 ready\n" && released.status == 0)
        let again = try await cachectl("queue", "release", "--key", "k")
        #expect(again.status == 1 && again.errors.contains("was not held"))
        _ = try await cachectl("queue", "hold", "2")
        #expect(try await cachectl("queue", "release", "--state", "held", "--yes").text == "released 1 job\n4 ready\n")
    }

    @Test func `names the holds that still apply to released jobs`() async throws {
        try await fill()
        for name in [["--key", "k"], ["--lane", "it's"], ["--engine"]] {
            _ = try await cachectl(["queue", "hold"] + name)
        }
        let released = try await cachectl("queue", "release", "--all")
        #expect(released.status == 0 && released.text == "released 0 jobs\n3 held\n")
        let times = #/since \S+Z/#
        #expect(
            released.errors.replacing(times, with: "since TIME") == """
                held: the store's engines since TIME: 'cachectl queue release --engine' ends it
                held: the ordering key 'k' since TIME: 'cachectl queue release --key=k' ends it
                held: the lane 'it's' since TIME: 'cachectl queue release --lane='it'\\''s'' ends it

                """)
    }

    @Test func `says for each given job why the command does not apply to it, and exits with 1`() async throws {
        try await fill()
        let outcome = try await cachectl("queue", "redrive", "1", "99")
        #expect(outcome.status == 1 && outcome.text == "redriven 0 jobs\n3 ready\n")
        #expect(
            outcome.errors == """
                cachectl: job 1 is ready: redrive applies to jobs that are dead or in review
                cachectl: there is no job 99: it may have been deleted after its end, see the list of jobs

                """)
        let json = try await cachectl("queue", "discard", "1", "99", "--json")
        let form = try #require(JSONSerialization.jsonObject(with: json.output) as? [String: Any])
        #expect(json.status == 1 && form["verb"] as? String == "discard" && form["jobs"] as? [Int] == [1])
        #expect((form["refused"] as? [[String: Any]])?.map { $0["id"] as? Int } == [99])
        #expect((form["counts"] as? [String: Int])?["done"] == 1)
    }

    @Test func `prints a hold as JSON with --json`() async throws {
        try await fill()
        let form = try #require(try await cachectl.object("queue", "hold", "--key", "k"))
        #expect(form["jobs"] as? Int == 3 && form["verb"] as? String == "hold" && form["dryRun"] as? Bool == false)
        #expect(form["hold"] as? [String: String] == ["kind": "key", "name": "k"])
    }

    @Test(
        arguments: [
            ([], "ordered", 0, 20), (["--priority", "-3", "--attempts", "2"], "ordered", -3, 2),
            (["--strict", "--unique", "u", "--uniqueness", "replace"], "strict", 0, 20),
        ] as [([String], String, Int, Int)])
    func `adds a request with the given options`(
        options: [String],
        order: String,
        priority: Int,
        attempts: Int
    ) async throws {
        let file = try cachectl.file("request.json", #"{"url": "https://a.example/", "replay": {"orderingKey": "k"}}"#)
        #expect(try await cachectl(["queue", "add", file] + options).text == "1\n")
        let job = try #require(try cachectl.queue().job(1))
        #expect(job.orderingKey == "k" && job.order.rawValue == order)
        #expect(job.priority == priority && job.attemptLimit == attempts)
    }

    @Test func `adds a request with a unique name only once`() async throws {
        let arguments = ["queue", "add", "https://a.example/", "--unique", "profile"]
        #expect(try await cachectl(arguments).text == "1\n")
        #expect(try await cachectl(arguments).text == "1\n")
        #expect(try await cachectl(arguments + ["--json"]).text.filter { !$0.isWhitespace } == #"{"id":1}"#)
        #expect(try states() == ["ready"])
    }

    @Test func `replaces the request of a job`() async throws {
        let old = try await cachectl(
            "queue", "add", "https://a.example/", "--json-body", "[1]", "--key", "k", "--identity", "me")
        #expect(old.text == "1\n")
        let key = try cachectl.queue().job(1)?.idempotencyKey
        let new = #"{"url": "https://a.example/", "method": "POST", "body": {"json": [2]}}"#
        #expect(try await cachectl("queue", "edit", "1", input: new).text == "1\n")
        let queue = try cachectl.queue()
        #expect(try queue.request(of: 1)?.body == .json([2]))
        let job = try #require(try queue.job(1))
        #expect(job.identity == "me" && job.orderingKey == "k" && job.idempotencyKey != key)
        let form = try await cachectl("queue", "show", "1", "--as-request").text
        let unchanged = try await cachectl("queue", "edit", "1", cachectl.file("same.json", form))
        #expect(unchanged.text == "1\n" && unchanged.errors == "unchanged\n")
    }

    @Test(
        arguments: [
            ("1", #"{"url": "https://a.example/", "identity": "other"}"#, 64, "changes the identity"),
            ("1", #"{"url": "https://a.example/?token=s3cret"}"#, 64, "which is a secret"),
            ("1", "{", 64, "standard input: line 1"), ("9", "{}", 1, "there is no job 9"),
        ] as [(String, String, Int32, String)])
    func `refuses an invalid edit, and changes nothing`(
        id: String,
        text: String,
        status: Int32,
        part: String
    ) async throws {
        _ = try await cachectl("queue", "add", "https://a.example/", "--identity", "me")
        let outcome = try await cachectl("queue", "edit", id, input: text)
        #expect(outcome.status == status && outcome.text.isEmpty && outcome.errors.contains(part), "\(outcome.errors)")
        #expect(!outcome.errors.contains("s3cret"))
        #expect(try cachectl.queue().request(of: 1)?.identity == "me")
    }

    @Test func `adds another job for an edit of a job that may have been sent`() async throws {
        try await fill([.failed(.unknown, code: "connectionLost", message: "the connection broke")])
        let new = #"{"url": "https://b.example/new", "method": "POST"}"#
        let outcome = try await cachectl("queue", "edit", "1", input: new)
        #expect(outcome.text == "5\n" && outcome.errors.contains("job 1 may have been processed"))
        #expect(try cachectl.queue().request(of: 1)?.url == "https://b.example/")
    }

    #if os(Linux)
    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script"), "needs script, for a terminal"))
    func `opens the editor if it runs on a terminal`() async throws {
        _ = try await cachectl("queue", "add", "https://a.example/old")
        let tool = BuiltTool("cachectl").url.path
        var script = BuiltTool("")
        script.url = URL(filePath: "/usr/bin/script")
        script.environment = [
            "DIAMOND_STORE": cachectl.temporary.directory.path, "VISUAL": "", "EDITOR": "sed -i s/old/new/",
        ]
        let log = try cachectl.file("log", "")
        let outcome = try await script.run(["-qec", "\(tool) queue edit 1", log])
        #expect(outcome.status == 0, "\(outcome.text)")
        #expect(try cachectl.queue().request(of: 1)?.url == "https://a.example/new")
        // The written form knows no "uri".
        script.environment["EDITOR"] = "sed -i s/url/uri/"
        let refused = try await script.run(["-qec", "\(tool) queue edit 1", log])
        let text = try #require(refused.text.firstMatch(of: #/; your text is in (\S+\.json)/#)?.1).description
        defer { try? FileManager.default.removeItem(atPath: text) }
        #expect(refused.status == 64 && FileManager.default.contents(atPath: text) != nil, "\(refused.text)")
        script.environment["EDITOR"] = "false"
        #expect(try await script.run(["-qec", "\(tool) queue edit 1", log]).status == 1)
        #expect(try cachectl.queue().request(of: 1)?.url == "https://a.example/new")
    }
    #endif
}
