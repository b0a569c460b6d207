import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl queue, all jobs that match", .limit(minutes: 5)) struct QueueMatchingTests {
    let cachectl = Shell()

    /// Adds job 1, which waits, job 2, which is dead, and jobs 3 and 4, which are ready.
    private func fill() async throws {
        let outcomes = [
            ReplayOutcome.failed(.unsent, code: "cannotConnect", message: "refused by the host"),
            .answered(status: 400),
        ]
        for (index, outcome) in outcomes.enumerated() {
            _ = try await cachectl("queue", "add", "-X", "POST", "https://b.example/Orders/\(index + 1)")
            try await cachectl.attempt(outcome)
        }
        for number in 3...4 { _ = try await cachectl("queue", "add", "https://a.example/\(number)") }
    }

    @Test(
        arguments: [
            (["--match", "/orders/"], [1, 2]), (["--error", "STATUS 4"], [2]), (["--error", "refused"], [1]),
            (["--error", "cannotConnect", "--match", "/2"], []), (["--match", "a.*3"], [3]),
            (["--match", "b.example", "--state", "waiting"], [1]),
        ] as [([String], [Int])]) func `lists the jobs that match`(arguments: [String], ids: [Int]) async throws
    {
        try await fill()
        let jobs = try await cachectl.object("queue", "list", arguments)?["jobs"] as? [[String: Any]]
        #expect(jobs?.map { $0["id"] as? Int } == ids)
        let exported = try await cachectl(["queue", "export"] + arguments)
        #expect(exported.text.split(separator: "\n").count == ids.count)
    }

    @Test func `counts the jobs that match, and changes them only with --yes`() async throws {
        try await fill()
        let all = ["queue", "discard", "--match", "example/"]
        let refused = try await cachectl(all)
        #expect(refused.status == 64 && refused.text.isEmpty)
        #expect(
            refused.errors
                == "cachectl: 4 jobs match: give --yes to discard all that match, or --dry-run to see which\n")
        #expect(try await cachectl(all + ["--json"]).status == 64)
        let trial = try await cachectl(["queue", "redrive", "--error", "status", "--dry-run"])
        #expect(trial.text == "would redrive 1 job: 2\n2 ready, 1 waiting, 1 dead\n")
        #expect(try await cachectl("queue", "redrive", "--error", "refused").text.hasPrefix("redriven 0 jobs\n"))
        #expect(try cachectl.queue().counts()[.done] == 0)
        #expect(try await cachectl(all + ["--yes"]).text == "discarded 4 jobs\n4 done\n")
    }

    #if os(Linux)
    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script"), "needs script, for a terminal"),
        arguments: [
            ("y", 0, "discarded 2 jobs", 2), ("n", 1, "nothing was changed", 0), ("", 1, "nothing was changed", 0),
        ])
    func `asks on a terminal`(answer: String, status: Int32, text: String, done: Int) async throws {
        try await fill()
        var script = BuiltTool("")
        script.url = URL(filePath: "/usr/bin/script")
        script.environment = ["DIAMOND_STORE": cachectl.temporary.directory.path]
        let command = "\(BuiltTool("cachectl").url.path) queue discard --match a.example"
        let outcome = try await script.run(["-qec", command, try cachectl.file("log", "")], input: "\(answer)\n")
        #expect(outcome.status == status && outcome.text.contains("discard 2 jobs? [y/N] "), "\(outcome.text)")
        #expect(outcome.text.contains(text))
        #expect(try cachectl.queue().counts()[.done] ?? 0 == done)
    }
    #endif

    @Test func `adds the request of a job that is done as a new job, and of no other`() async throws {
        try await fill()
        _ = try await cachectl("queue", "discard", "3")
        #expect(try await cachectl("queue", "resend", "3").text == "5\n")
        let (old, new) = (try cachectl.queue().job(3), try cachectl.queue().job(5))
        #expect(new?.url == old?.url && new?.state == .ready && old?.state == .done)
        #expect(try await cachectl("queue", "resend", "3", "--json").text.contains("6"))
        _ = try await cachectl("queue", "add", "-X", "POST", "https://a.example/p", "--unique", "doc")
        _ = try await cachectl("queue", "discard", "7")
        #expect(try await cachectl("queue", "resend", "7").text == "8\n")
        let keys = try [7, 8].map { try cachectl.queue().job($0)?.idempotencyKey }
        #expect(keys[0] != nil && keys[1] != nil && keys[0] != keys[1])
        let taken = try await cachectl("queue", "resend", "7")
        #expect(taken.status == 1 && taken.errors.contains("another job has the unique name of job 7"))
        let rule = "only a job that is done is added again"
        for (id, state, advice) in [(1, "waiting", "retry"), (2, "dead", "redrive")] {
            let outcome = try await cachectl("queue", "resend", "\(id)")
            let reason = "job \(id) is \(state), and \(rule): 'cachectl queue \(advice) \(id)' sends it"
            #expect(outcome.status == 1 && outcome.errors.contains(reason), "\(outcome)")
        }
        #expect(try await cachectl("queue", "resend", "99").errors.contains("there is no job 99"))
    }

    @Test func `says why a retry is refused, and which command helps`() async throws {
        try await fill()
        _ = try await cachectl("queue", "discard", "3")
        _ = try await cachectl("queue", "hold", "4")
        let outcome = try await cachectl(
            "queue", "retry", "1", "2", "3", "4", "--store", cachectl.temporary.directory.path)
        let option = " --store=\(cachectl.temporary.directory.path)"
        #expect(outcome.status == 1 && outcome.text.hasPrefix("retried 1 job\n"))
        let rule = "retry applies to jobs that are waiting or ready; "
        #expect(
            outcome.errors.replacing(option, with: "").replacing(rule, with: "") == """
                cachectl: job 2 is dead: it ended by refused, the last attempt by status 400: 'cachectl queue \
                redrive 2' sends it again
                cachectl: job 3 is done: 'cachectl queue resend 3' adds its request as a new job
                cachectl: job 4 is held: 'cachectl queue release 4' ends its hold

                """)
        _ = try await cachectl("queue", "release", "4")
        _ = try await cachectl("queue", "hold", "--lane", "default", "--reason", "a \u{1B}night")
        let held = try await cachectl("queue", "retry", "4").errors
        #expect(held.contains("; held: the lane 'default' since ") && !held.contains("\u{1B}"))
        #expect(held.hasSuffix("'cachectl queue release --lane=default' ends it\n"))
    }
}

extension Shell {
    fileprivate func object(_ command: String, _ name: String, _ options: [String]) async throws -> [String: Any]? {
        let outcome = try await self([command, name] + options + ["--json"])
        return try JSONSerialization.jsonObject(with: outcome.output) as? [String: Any]
    }
}
