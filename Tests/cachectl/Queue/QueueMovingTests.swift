import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("cachectl queue export, import and watch", .limit(minutes: 5)) struct QueueMovingTests {
    let cachectl = Shell()
    let other = Shell()

    @Test func `exports jobs as lines, and imports those that have not ended`() async throws {
        for arguments in [
            ["https://a.example/done"], ["https://a.example/held", "--key", "k"],
            ["https://a.example/later", "--after", "9d", "--key", "k"],
            ["https://a.example/lost", "-X", "POST", "--priority", "7"],
        ] { _ = try await cachectl(["queue", "add"] + arguments) }
        try await cachectl.attempt(.failed(.unknown, code: "connectionLost", message: "the connection broke"))
        _ = try await cachectl("queue", "discard", "1")
        _ = try await cachectl("queue", "hold", "2")
        let exported = try await cachectl("queue", "export")
        #expect(exported.text.split(separator: "\n").count == 4 && exported.errors.isEmpty)
        let file = try other.file("jobs.jsonl", exported.text)
        let trial = try await other("queue", "import", file, "--dry-run")
        #expect(trial.text == "would import 3 jobs; 1 left out: done, dead or in review\n" && other.files().isEmpty)
        let imported = try await other("queue", "import", file)
        #expect(imported.text == "imported 3 jobs; 1 left out: done, dead or in review\n" && imported.errors.isEmpty)
        let (old, new) = (try cachectl.queue().jobs().dropFirst(), try other.queue().jobs())
        #expect(new.map(\.url) == old.map(\.url) && new.map(\.idempotencyKey) == old.map(\.idempotencyKey))
        #expect(new.map(\.state) == [.held, .waiting, .waiting])
        #expect(new[1].orderingKey == "k" && abs(new[1].runAt.timeIntervalSinceNow - 9 * 86_400) < 3600)
        #expect(new[2].unknownSince != nil && new[2].priority == 7)
        // To the millisecond, as they are stored.
        let times = zip(new, old).map { new, old in
            [
                abs((new.expiresAt ?? .distantPast).timeIntervalSince(old.expiresAt ?? .now)),
                new.state == .waiting && old.runAt > .now ? abs(new.runAt.timeIntervalSince(old.runAt)) : 0,
            ]
        }
        #expect(times.joined().allSatisfy { $0 < 0.000_5 }, "\(times)")
        #expect(try await other("queue", "release", "1").text == "released 1 job\n1 ready, 2 waiting\n")
    }

    @Test func `imports jobs that wait for an object, with or without the job that creates it`() async throws {
        let localID = "local:96001A3D-0000-4000-8000-000000000001"
        var creation = Request("https://a.example/notes", method: .post)
        creation.replay = .durable
        creation.replay.creates = ReplayCreation(localID, paths: [["id"]])
        var remark = Request("https://a.example/notes/\(localID)/remarks", method: .post)
        remark.replay = .durable
        remark.replay.awaits = remark.localIDs
        try await cachectl.queue().enqueue([creation, remark])
        let all = try await cachectl("queue", "export").text
        _ = try await other("queue", "import", "-", input: all)
        #expect(try other.queue().job(2)?.reason == .awaitingID && other.queue().job(2)?.awaitedJobs == [1])
        let waiting = try await cachectl("queue", "export", "--state", "held").text
        let third = Shell()
        _ = try await third("queue", "import", "-", input: waiting)
        #expect(try third.queue().job(1)?.reason == .creationFailed && third.queue().job(1)?.awaitedJobs == [])
    }

    @Test func `exports all jobs that match the options, even if they are more than a page`() async throws {
        let request = Request("https://a.example/")
        try await cachectl.queue().enqueue(Array(repeating: request, count: 250))
        #expect(try await cachectl("queue", "export").text.split(separator: "\n").count == 250)
        #expect(try await cachectl("queue", "export", "--state", "done").text.isEmpty)
        let exported = try await cachectl("queue", "export").text
        let form = try await other("queue", "import", "-", "--json", input: exported).text
        #expect(form.filter { !$0.isWhitespace } == #"{"dryRun":false,"jobs":250,"leftOut":0}"#)
        #expect(try other.queue().counts()[.ready] == 250)
    }

    @Test(
        arguments: [
            (
                #"{"request": {"url": "https://a.example/?token=s3cret"}}"#,
                "line 2: a request that is stored on disk must not contain a secret"
            ),
            (
                #"{"request": {"url": "https://a.example/", "replay": {"call": "{\"password\": \"s3cret\"}"}}}"#,
                "line 2: a request that is stored on disk must not contain a secret"
            ),
            (#"{"request": {"url": "https://a.example/", "metod": "GET"}}"#, #"line 2: key "metod""#),
            (#"{"request": {"url": "https://a.example/"}, "stat": "held"}"#, #"line 2: has the unknown key "stat""#),
            (#"{"request": {"url": "https://a.example/"}, "version": 2}"#, "line 2: is of a newer version"),
            (#"{"request": {"url": "https://a.example/"}, "state": "lost"}"#, "line 2: has the unknown state 'lost'"),
            (#"{"request": {"url": "https://a.example/"}, "runAt": "soon"}"#, #"line 2: has a malformed "runAt""#),
            (#"{"state": "ready"}"#, "line 2: has no request"), ("{", "line 2: is not a line of an export"),
        ])
    func `imports all jobs or none, and names the invalid line`(line: String, part: String) async throws {
        let good = #"{"request": {"url": "https://a.example/"}}"#
        for options in [["--dry-run"], []] {
            let outcome = try await other(["queue", "import", "-"] + options, input: "\(good)\n\(line)\n")
            #expect(outcome.status == 64 && outcome.text.isEmpty && outcome.errors.contains(part), "\(outcome.errors)")
            #expect(!outcome.errors.contains("s3cret"))
        }
        if other.files().contains("replay.sqlite") { #expect(try other.queue().jobs().isEmpty) }
        #expect(try await other("queue", "import", "-", input: good + "\n\n").text == "imported 1 job\n")
    }

    @Test func `shows the call that a job stores, also after an export and an import`() async throws {
        let replay = #"{"kind": "AddNote", "call": "{\"id\":9007199254740993,\"text\":\"milk\"}"}"#
        let line = #"{"request": {"url": "https://a.example/", "replay": \#(replay)}}"#
        _ = try await cachectl("queue", "import", "-", input: line)
        _ = try await other("queue", "import", "-", input: try await cachectl("queue", "export").text)
        for shell in [cachectl, other] {
            let shown = try await shell("queue", "show", "1").text
            #expect(shown.contains(#"call        {"id":9007199254740993,"text":"milk"}\#n"#), "\(shown)")
        }
    }

    @Test func `does not count a job as imported if another job has its unique name`() async throws {
        let line = #"{"request": {"url": "https://a.example/", "replay": {"unique": "profile"}}}"# + "\n"
        let first = try await other("queue", "import", "-", input: line + line)
        #expect(first.text == "imported 1 job; 1 not added: another job has the unique name\n", "\(first.errors)")
        let again = try await other("queue", "import", "-", "--json", input: line)
        #expect(again.text.filter { !$0.isWhitespace } == #"{"dryRun":false,"jobs":0,"leftOut":0,"takenIn":1}"#)
        #expect(try other.queue().counts()[.ready] == 1)
    }

    @Test(arguments: ["done", "dead", "needsReview"])
    func `leaves out jobs that have ended, even if they have no request`(
        state: String
    ) async throws {
        let lines = #"{"request": {"url": "https://a.example/"}}"# + "\n" + #"{"state": "\#(state)"}"#
        let imported = try await other("queue", "import", "-", input: lines)
        #expect(imported.text == "imported 1 job; 1 left out: done, dead or in review\n" && imported.status == 0)
    }

    // MARK: Archives

    private func archive(_ folder: TemporaryFolder) async throws -> (path: String, data: Data) {
        let path = folder.url.appending(path: "jobs.archive").path
        let exported = try await cachectl("queue", "export", "--archive", path)
        #expect(exported.text.hasPrefix("archived ") && exported.status == 0, "\(exported.errors)")
        return (path, try Data(contentsOf: URL(filePath: path)))
    }

    @Test func `an archive is imported once, also if some of its jobs are done by then`() async throws {
        for arguments in [
            ["https://a.example/1"], ["https://a.example/1"], ["https://a.example/2", "-X", "PUT", "--key", "k"],
            ["https://a.example/3", "-X", "POST"],
        ] { _ = try await cachectl(["queue", "add"] + arguments) }
        let folder = TemporaryFolder()
        let (path, data) = try await archive(folder)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect(mode as? Int == 0o600 && folder.names == ["jobs.archive"])
        #expect(try await other("queue", "import", path, "--dry-run").text == "would import 4 jobs\n")
        #expect(try await other("queue", "import", path).text == "imported 4 jobs\n")
        #expect(try other.queue().jobs().map(\.url) == cachectl.queue().jobs().map(\.url))
        try await other.attempt(.answered(status: 200), of: 2)
        let again = try await other("queue", "import", path)
        #expect(again.text == "imported 0 jobs; 4 not added: the queue has them\n", "\(again.errors)")
        #expect(try await cachectl("queue", "import", path).text.hasPrefix("imported 0 jobs"))
        // Of two equal jobs, the queue may have lost one.
        let third = Shell()
        _ = try await third("queue", "add", "https://a.example/1")
        #expect(try await third("queue", "import", path).text == "imported 3 jobs; 1 not added: the queue has them\n")
        #expect(try Data(contentsOf: URL(filePath: path)) == data)
    }

    @Test func `a hold of a lane is not copied, and that of a job is`() async throws {
        for number in 1...2 { _ = try await cachectl("queue", "add", "https://a.example/\(number)") }
        _ = try await cachectl("queue", "hold", "1")
        _ = try await cachectl("queue", "hold", "--lane", "default")
        #expect(try cachectl.queue().jobs().map(\.state) == [.held, .held])
        _ = try await other("queue", "import", "-", input: try await cachectl("queue", "export").text)
        #expect(try other.queue().jobs().map(\.state) == [.held, .ready])
    }

    @Test func `a sealed queue is archived only with consent`() async throws {
        let folder = TemporaryFolder()
        let key = try folder.file("key", Data(repeating: 7, count: 32)).path
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
        let body = #"{"a":"PRIVATE"}"#
        _ = try await cachectl("queue", "add", "https://a.example/", "--json-body", body, "--key-file", key)
        let path = folder.url.appending(path: "jobs.archive").path
        let refused = try await cachectl("queue", "export", "--archive", path, "--key-file", key)
        #expect(refused.status == 64 && refused.errors.contains("give --with-secrets to copy it"))
        #expect(!FileManager.default.fileExists(atPath: path))
        let exported = try await cachectl("queue", "export", "--archive", path, "--with-secrets", "--key-file", key)
        #expect(exported.text == "archived 1 job in \(path)\n", "\(exported.errors)")
    }

    @Test func `jobs with one key are the same only with one method, URL and identity`() async throws {
        func job(_ url: String, _ method: HTTPRequest.Method = .post, identity: String? = nil) -> Request {
            var request = Request(url, method: method, headers: [.idempotencyKey: "1"])
            request.identity = identity
            request.replay = .durable
            return request
        }
        let order = job("https://a.example/orders")
        try await other.queue().enqueue([order, job("https://a.example/orders", identity: "anna")])
        try await cachectl.queue().enqueue([
            order, job("https://a.example/payments"), job("https://a.example/orders", .patch),
            job("https://a.example/orders", identity: "berta"), job("https://a.example/orders", identity: "anna"),
        ])
        let folder = TemporaryFolder()
        let path = try await archive(folder).path
        #expect(try await other("queue", "import", path).text == "imported 3 jobs; 2 not added: the queue has them\n")
        #expect(try await other("queue", "import", path).text == "imported 0 jobs; 5 not added: the queue has them\n")
        #expect(try other.queue().counts()[.ready] == 5)
    }

    @Test func `without a queue, an archive stays as it is`() async throws {
        try await cachectl.store([StoredEntry(url: "https://a.example/")])
        let folder = TemporaryFolder()
        let path = try folder.file("jobs.archive", Data("old".utf8)).path
        let exported = try await cachectl("queue", "export", "--archive", path)
        #expect(exported.status == 4 && exported.errors.contains("there is no queue in "), "\(exported.errors)")
        #expect(folder.names == ["jobs.archive"])
        #expect(try Data(contentsOf: URL(filePath: path)) == Data("old".utf8))
        #expect(try await cachectl("queue", "export").status == 0)
    }

    @Test func `of an archive that is truncated or altered, no job is imported`() async throws {
        _ = try await cachectl("queue", "add", "https://a.example/1")
        _ = try await cachectl("queue", "add", "https://a.example/2")
        let data = try await archive(TemporaryFolder()).data
        var damaged = [data.prefix(data.count - 1), data.prefix(200), data + [0x0A]]
        let lines = data.split(separator: 0x0A)
        for part in [lines[0].endIndex - 4, lines[1].startIndex + 30, lines[2].endIndex - 2, lines[3].endIndex - 5] {
            var altered = data
            altered[part] ^= 1
            damaged.append(altered)
        }
        damaged.append(Data(lines[0] + [0x0A] + lines[1] + [0x0A] + lines[3] + [0x0A]))
        for (number, bytes) in damaged.enumerated() {
            let file = try other.file("\(number)", String(decoding: bytes, as: UTF8.self))
            let imported = try await other("queue", "import", file)
            #expect(imported.status == 1 && imported.text.isEmpty, "\(number): \(imported.text)")
            #expect(imported.errors.contains(#/byte \d+: .+: export it again; no job was added/#), "\(imported.errors)")
        }
        #expect(other.files().isEmpty)
        #expect(try await other("import", try other.file("q", String(decoding: data, as: UTF8.self))).status == 64)
    }

    @Test(arguments: [[], ["--json"]]) func `prints the changes of jobs as they happen, also those by other processes`(
        options: [String]
    ) async throws {
        _ = try await cachectl("queue", "add", "https://a.example/before")
        let (output, errors) = (Pipe(), Pipe())
        let watch = try ChildProcess(
            BuiltTool("cachectl").url, ["queue", "watch", "--store", cachectl.temporary.directory.path] + options,
            output: .pipe(output), errors: .pipe(errors))
        // The first line: from now on the command prints changes.
        #expect(await errors.firstLine() == "1 ready; Ctrl-C ends")
        _ = try await cachectl("queue", "add", "https://a.example/new", "--key", "k", "--after", "1h")
        let line = await output.firstLine()
        watch.kill(SIGINT)
        #expect(await watch.ended() == .killed(by: SIGINT))
        guard options.isEmpty else {
            let job = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            return #expect(job?["id"] as? Int == 2 && job?["state"] as? String == "waiting")
        }
        #expect(line.contains(#/^[-0-9T:]+Z job 2 waiting \(delayed\): GET https://a.example/new, key k$/#), "\(line)")
    }
}
