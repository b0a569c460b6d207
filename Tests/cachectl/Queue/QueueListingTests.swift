import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl queue, inspecting jobs", .limit(minutes: 5)) struct QueueListingTests {
    let cachectl = Shell()

    /// Adds four jobs: two with one ordering key, one for later, one that has failed.
    private func fill() async throws {
        let post = ["queue", "add", "-X", "POST", "--json-body", #"{"a": 1}"#, "https://a.example/notes"]
        for arguments in [
            post + ["--key", "cart-7", "--strict", "--tag", "x"], post + ["--key", "cart-7", "--identity", "user-42"],
            ["queue", "add", "-X", "PUT", "https://b.example:8443/later", "--after", "10d"],
        ] {
            let added = try await cachectl(arguments)
            #expect(added.status == 0 && added.errors.isEmpty, "\(added.errors)")
        }
        let failing = ["queue", "add", "-X", "PUT", "https://a.example/failing", "--priority", "9"]
        #expect(try await cachectl(failing).text == "4\n")
        try await cachectl.attempt(.failed(.unsent, code: "cannotConnect", message: "the server refused"))
    }

    @Test func `lists jobs under the counts and the holds`() async throws {
        try await fill()
        _ = try await cachectl("queue", "hold", "--lane", "images", "--reason", "a quiet night")
        let listed = try await cachectl("queue", "list")
        #expect(
            listed.masked == """
                2 ready, 2 waiting
                held: the lane 'images' since TIME (a quiet night)

                ID  STATE    REASON    TRIES  AGE    NEXT  METHOD  KEY     URL
                 1  ready    enqueued   0/20   0s     now  POST    cart-7  https://a.example/notes
                 2  ready    enqueued   0/20   0s  behind  POST    cart-7  https://a.example/notes
                 3  waiting  delayed    0/20   0s   in 9d  PUT     -       https://b.example:8443/later
                 4  waiting  backoff    1/20   0s  in 10d  PUT     -       https://a.example/failing

                """)
        #expect(listed.status == 0 && listed.errors.isEmpty)
    }

    @Test(
        arguments: [
            ([], [1, 2, 3, 4]), (["--state", "ready"], [1, 2]), (["--key", "cart-7"], [1, 2]),
            (["--identity", "user-42"], [2]), (["--host", "b.example:8443"], [3]), (["--host", "b.example"], []),
            (["--tag", "x"], [1]), (["--older-than", "1h"], []), (["--older-than", "0s", "--limit", "1"], [1]),
            (["--after", "2"], [3, 4]), (["--state", "waiting", "--host", "a.example"], [4]),
        ] as [([String], [Int])])
    func `lists only the jobs that match the options`(arguments: [String], ids: [Int]) async throws {
        try await fill()
        let object = try await cachectl(["queue", "list", "--json"] + arguments)
        let list = try #require(JSONSerialization.jsonObject(with: object.output) as? [String: Any])
        #expect((list["jobs"] as? [[String: Any]])?.map { $0["id"] as? Int } == ids)
        #expect((list["counts"] as? [String: Int])?["ready"] == 2)
        #expect((list["counts"] as? [String: Int])?.count == 7)
        #expect(list["after"] as? Int == (arguments.contains("--limit") ? 1 : nil))
    }

    @Test func `prints the id to continue after if there are more jobs`() async throws {
        try await fill()
        #expect(try await cachectl("queue", "list", "--limit", "3").errors == "there is more: --after 3\n")
        #expect(try await cachectl("queue", "list", "--limit", "4").errors.isEmpty)
        #expect(try await cachectl("queue", "list", "--state", "dead").errors == "no job matches\n")
    }

    @Test func `shows a job, its request and its attempts`() async throws {
        try await fill()
        let shown = try await cachectl("queue", "show", "4")
        #expect(shown.status == 0 && shown.errors.isEmpty)
        let parts = shown.masked.split(separator: "\nATTEMPTS\n")
        #expect(
            parts.first == """
                job         4
                state       waiting (backoff), in 10d
                request     PUT https://a.example/failing
                priority    9
                added       TIME
                changed     TIME
                not before  TIME
                expires     TIME
                attempts    1 of 20

                REQUEST
                {
                  "method" : "PUT",
                  "replay" : {
                    "mode" : "durable",
                    "priority" : 9
                  },
                  "url" : "https://a.example/failing",
                  "version" : 1
                }

                """)
        let attempts =
            #/NUMBER  STARTED +TOOK  CODE           MESSAGE\n     1  TIME +\S+ m?s  cannotConnect  the server refused\n/#
        #expect(parts.last?.wholeMatch(of: attempts) != nil, "\(shown.text)")
        let json = try await cachectl.object("queue", "show", "1")
        #expect((json?["job"] as? [String: Any])?["orderingKey"] as? String == "cart-7")
        #expect((json?["request"] as? [String: Any])?["url"] as? String == "https://a.example/notes")
        let text = try await cachectl("queue", "show", "1").text
        #expect(text.contains("key         cart-7, strict, first job of the key\n") && text.contains("tags        x\n"))
    }

    @Test func `shows the tags that a request invalidates`() async throws {
        let tags = ["--invalidates", "towns", "--invalidates", "cities"]
        #expect(try await cachectl(["queue", "add", "-X", "POST", "https://a.example/notes"] + tags).text == "1\n")
        #expect(try await cachectl("queue", "show", "1").text.contains("invalidates cities, towns\n"))
        let form = try await cachectl("queue", "show", "1", "--as-request").text
        #expect(try Request(json: Data(form.utf8)).invalidates == ["cities", "towns"])
    }

    @Test func `shows a request as a curl command, and as JSON that queue add reads`() async throws {
        try await fill()
        let command = try await cachectl("queue", "show", "1", "--as-curl")
        #expect(
            command.masked == """
                curl 'https://a.example/notes' -H 'Idempotency-Key: UUID' -H 'Content-Type: application/json' \
                --data-raw '{"a": 1}'

                """)
        let form = try await cachectl("queue", "show", "2", "--as-request").text
        #expect(try await cachectl("queue", "add", "-", input: form).text == "5\n")
        #expect(try cachectl.queue().request(of: 5) == cachectl.queue().request(of: 2))
    }

    @Test func `writes control and invisible characters of a curl command in octal`() async throws {
        let request = #"{"url": "https://a.example/", "headers": {"Accept": "a\tb\u202Ec\u2028d\u0085e"}}"#
        #expect(try await cachectl("queue", "add", "-", input: request).status == 0)
        let command = try await cachectl("queue", "show", "1", "--as-curl").text
        let header = #"-H "$(printf 'Accept: a\011b\342\200\256c\342\200\250d\302\205e')""#
        #expect(command.contains(header), "\(command)")
    }

    @Test func `neither shows nor stores a secret`() async throws {
        let text = #"{"url": "https://a.example/", "credentials": [{"prefix": "Bearer ", "secret": "api-token"}]}"#
        let environment = ["API_TOKEN": "s3cret"]
        #expect(try await cachectl("queue", "add", "-", input: text, environment: environment).status == 0)
        for arguments in [
            ["https://me:s3cret@a.example/"], ["https://a.example/?token=s3cret"],
            ["https://a.example/", "-p", "token=s3cret"],
            ["https://a.example/", "-H", "Authorization: Bearer s3cret"],
            ["https://a.example/", "-H", "X-Api-Key: s3cret"],
            ["https://a.example/", "--json-body", #"{"password": "s3cret"}"#],
        ] {
            let refused = try await cachectl(["queue", "add"] + arguments)
            #expect(refused.status == 64 && refused.text.isEmpty, "\(arguments)")
            #expect(refused.errors.contains("must not contain a secret") && !refused.errors.contains("s3cret"))
        }
        for arguments in [
            ["list"], ["list", "--json"], ["show", "1"], ["show", "1", "--json"], ["show", "1", "--as-curl"],
            ["show", "1", "--as-request"], ["export"], ["keys"], ["history"], ["replay", "--dry-run"],
        ] {
            let shown = try await cachectl(["queue"] + arguments, environment: environment)
            #expect(shown.status == 0 && !(shown.text + shown.errors).contains("s3cret"), "\(arguments)")
        }
        #expect(try await cachectl("queue", "show", "1", "--as-curl").text.contains("Bearer $API_TOKEN"))
        #expect(try cachectl.temporary.replayBytes().range(of: Data("s3cret".utf8)) == nil)
    }

    @Test func `lists the ordering keys, and marks those that are blocked`() async throws {
        try await fill()
        _ = try await cachectl("queue", "add", "https://a.example/other", "--key", "other")
        try await cachectl.attempt(.answered(status: 400))
        #expect(
            try await cachectl("queue", "keys").masked == """
                KEY     JOBS           HEAD  STATE  REASON    NEXT  METHOD  URL
                cart-7     2  blocked     1  dead   refused      -  POST    https://a.example/notes
                other      1              5  ready  enqueued   now  GET     https://a.example/other

                """)
        _ = try await cachectl("queue", "add", "https://a.example/other", "--key", "able")
        let first = try await cachectl("queue", "keys", "--limit", "1")
        #expect(first.text.contains("\nable ") && first.errors == "there is more: give a higher --limit\n")
        let blocked = try await cachectl("queue", "keys", "--blocked", "--limit", "1", "--json")
        #expect(blocked.errors.isEmpty)
        let keys = try #require(JSONSerialization.jsonObject(with: blocked.output) as? [[String: Any]])
        #expect(keys.map { $0["key"] as? String } == ["cart-7"] && keys[0]["isBlocked"] as? Bool == true)
    }

    @Test func `counts each action on jobs by day and by hour`() async throws {
        try await fill()
        // A day may begin in between.
        let table = try await cachectl("queue", "history", "--days", "2").text
        let lines = table.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(lines.first == ["DAY", "ENQUEUE", "CLAIM", "FAIL"])
        let sums = (1...3).map { column in lines.dropFirst().reduce(0) { $0 + (Int($1[column]) ?? 0) } }
        #expect(sums == [4, 1, 1])
        let hours = try await cachectl("queue", "history", "--hours").text
        #expect(hours.contains(#/^HOUR .*\n\d{4}-\d\d-\d\d \d\d +\d/#))
        let json = try await cachectl("queue", "history", "--json")
        let forms = try #require(JSONSerialization.jsonObject(with: json.output) as? [[String: Any]])
        #expect(forms.compactMap { ($0["verbs"] as? [String: Int])?["enqueue"] }.reduce(0, +) == 4)
        #expect(try await cachectl("queue", "history", "--days", "0").status == 64)
    }

    @Test func `lists the jobs that would be sent now, in order, and the waiting jobs with their times`() async throws {
        try await fill()
        _ = try await cachectl("queue", "add", "https://a.example/first", "--priority", "5")
        let before = try cachectl.queue().jobs()
        #expect(
            try await cachectl("queue", "replay", "--dry-run").masked == """
                would send 2 jobs now, 1 behind

                SENT NOW
                ID  STATE  REASON    TRIES  AGE  NEXT  METHOD  KEY     URL
                 5  ready  enqueued   0/20   0s   now  GET     -       https://a.example/first
                 1  ready  enqueued   0/20   0s   now  POST    cart-7  https://a.example/notes

                WAITING
                ID  STATE    REASON   TRIES  AGE    NEXT  METHOD  KEY  URL
                 3  waiting  delayed   0/20   0s   in 9d  PUT     -    https://b.example:8443/later
                 4  waiting  backoff   1/20   0s  in 10d  PUT     -    https://a.example/failing

                """)
        #expect(try cachectl.queue().jobs() == before)
    }

    @Test(arguments: ["whole", "engine"])
    func `says that a hold prevents jobs from being sent, and names the command that ends it`(
        hold: String
    ) async throws {
        try await fill()
        _ = try await cachectl("queue", "hold", "--\(hold)", "--reason", "a quiet night")
        let plan = try await cachectl("queue", "replay", "--dry-run").masked
        let title = hold == "whole" ? "the queue" : "the store's engines"
        let remedy = "'cachectl queue release --\(hold)' ends it"
        #expect(
            plan.hasPrefix(
                "held: \(title) since TIME (a quiet night): \(remedy)\nwould send 0 jobs now, 2 behind\n"), "\(plan)")
        let form = try #require(try await cachectl.object("queue", "replay", "--dry-run"))
        #expect(form["isHeld"] as? Bool == true && (form["sent"] as? [Any])?.isEmpty == true)
    }

    @Test func `lists only the jobs of the given identity that would be sent`() async throws {
        for identity in ["me", "other"] {
            for after in ["0s", "1h"] {
                _ = try await cachectl(
                    "queue", "add", "https://a.example/", "--identity", identity, "--after", after)
            }
        }
        let form = try #require(try await cachectl.object("queue", "replay", "--dry-run", "--identity", "me"))
        for list in ["sent", "waiting"] {
            #expect((form[list] as? [[String: Any]])?.map { $0["identity"] as? String } == ["me"], "\(form)")
        }
        #expect(form["behind"] as? Int == 0)
    }

    @Test(arguments: [
        (["list"], "no jobs\n", "nothing queued\n"), (["keys"], "", "no key has jobs\n"),
        (["history"], "", "nothing happened\n"), (["export"], "", ""),
    ]) func `lists nothing for a store without a queue, and creates no queue`(
        arguments: [String],
        output: String,
        errors: String
    ) async throws {
        try FileManager.default.createDirectory(at: cachectl.temporary.directory, withIntermediateDirectories: true)
        let outcome = try await cachectl(["queue"] + arguments)
        #expect(outcome.status == 0 && outcome.text == output && outcome.errors == errors)
        #expect(cachectl.files().isEmpty)
    }

    /// The reasons why a store cannot be read. Root may read any directory, but cannot follow a link to itself.
    enum Veil: CaseIterable { case link, mode }

    @Test(
        arguments: ["list", "keys", "history", "export", "show 1", "retry 1", "replay --dry-run"],
        Veil.allCases.filter { geteuid() != 0 || $0 == .link })
    func `says that it cannot read a store, and does not say that nothing is queued`(
        command: String,
        veil: Veil
    ) async throws {
        let (directory, path) = (cachectl.temporary.directory, cachectl.temporary.store.replayPath)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        switch veil {
        case .link: try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
        case .mode: try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: directory.path)
        }
        defer { try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: directory.path) }
        let outcome = try await cachectl(["queue"] + command.split(separator: " ").map(String.init))
        #expect(outcome.status == 4 && outcome.text.isEmpty, "\(outcome.text)")
        #expect(outcome.errors.contains("cannot read the directory \(directory.path) ("), "\(outcome.errors)")
        #expect(outcome.errors.contains(": run this program as its owner, or use another store"))
    }

    @Test(arguments: [
        "list", "show 1", "retry 1", "hold --whole", "release --all", "discard 1 --dry-run", "redrive 1", "edit 1",
        "keys",
        "history", "watch", "export", "replay --dry-run", "replay",
    ]) func `creates no store, and exits with 4 if there is none`(command: String) async throws {
        let outcome = try await cachectl(["queue"] + command.split(separator: " ").map(String.init))
        #expect(outcome.status == 4 && outcome.text.isEmpty)
        #expect(outcome.errors.contains("there is no queue in \(cachectl.temporary.directory.path)"))
        #expect(!FileManager.default.fileExists(atPath: cachectl.temporary.directory.path))
    }

    @Test(arguments: [
        "UPDATE job SET run_at = 9223372036854775807", "UPDATE job SET run_at = -9223372036854775807 - 1",
        "UPDATE job SET enqueued_at = -9223372036854775807 - 1, changed_at = 9223372036854775807",
        "UPDATE job SET expires_at = 9223372036854775807, sent_at = -9223372036854775807 - 1",
        "UPDATE attempt SET started_at = 9223372036854775807, ended_at = -9223372036854775807 - 1",
    ]) func `shows jobs whose times are damaged`(sql: String) async throws {
        try await fill()
        try cachectl.rewriteQueue(sql)
        for arguments in [["list"], ["list", "--json"], ["show", "4"], ["show", "4", "--json"]] {
            let outcome = try await cachectl(["queue"] + arguments)
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
            #expect(outcome.text.contains("a.example"))
        }
    }

    private static let ills: [(part: String, cause: @Sendable (Shell) throws -> Void)] = [
        ("update this program", { try $0.damageQueue("PRAGMA user_version = 99") }),
        ("belongs to another program", { try $0.damageQueue("PRAGMA application_id = 1") }),
        (
            "keep a copy, save what can be read with 'cachectl queue export'",
            {
                for end in ["-wal", "-shm"] {
                    try? FileManager.default.removeItem(atPath: $0.temporary.store.replayPath + end)
                }
                try Data(repeating: 1, count: 8192).write(to: URL(filePath: $0.temporary.store.replayPath))
            }
        ),
    ]

    @Test(arguments: ills.indices) func `refuses a file that it cannot use, and does not change it`(
        index: Int
    ) async throws {
        try await fill()
        try Self.ills[index].cause(cachectl)
        let before = try Data(contentsOf: URL(filePath: cachectl.temporary.store.replayPath))
        for command in [["list"], ["add", "https://a.example/"], ["retry", "1"]] {
            let outcome = try await cachectl(["queue"] + command)
            #expect(outcome.status == 4 && outcome.text.isEmpty)
            #expect(outcome.errors.contains(Self.ills[index].part), "\(outcome.errors)")
            #expect(outcome.errors.split(separator: "\n").count == 1)
        }
        #expect(try Data(contentsOf: URL(filePath: cachectl.temporary.store.replayPath)) == before)
    }

    @Test(
        arguments: [
            (["list", "--state", "lost"], "needsReview"), (["list", "--limit", "-1"], "--limit"),
            (["list", "--limit", "0"], "--limit"), (["keys", "--limit", "0"], "--limit"),
            (["replay", "--dry-run", "--limit", "0"], "--limit"),
            (["list", "--key", ""], "an empty name"), (["show"], "<ID>"), (["show", "x"], "x"),
            (["add", "https://h/", "--strict"], "--key"), (["add", "https://h/", "--uniqueness", "keep"], "--unique"),
            (["show", "1", "--as-curl", "--json"], "leave --json out"),
            (["add", "https://h/", "--priority", "1000001"], "--priority"),
            (["add", "https://h/", "--attempts", "0"], "--attempts"),
            (["add", "https://h/", "--after", "soon"], "--after"),
            (["add", "h/"], "begin a URL with https://"), (["retry"], "say which jobs"),
            (["retry", "1", "--all"], "only one of"), (["hold", "--whole", "--lane", "a"], "only one of"),
            (["hold", "--whole", "1"], "only one of"), (["hold", "--key", "a", "--identity", "b"], "--jobs"),
            (["hold", "1", "--reason", "x"], "--reason"), (["release"], "say which jobs"),
            (["hold", "--lane", "a", "--jobs"], "--jobs is for"), (["release", "--whole", "--jobs"], "--jobs is for"),
            (["replay", "--once", "--watch"], "give one of"), (["replay", "--width", "0"], "--width"),
            (["import", "/nonexistent"], "cannot be read"),
        ] as [([String], String)])
    func `exits with 64, and says which argument is wrong`(
        arguments: [String],
        part: String
    ) async throws {
        let outcome = try await cachectl(["queue"] + arguments)
        #expect(outcome.status == 64 && outcome.text.isEmpty)
        #expect(outcome.errors.contains(part), "\(outcome.errors)")
        #expect(cachectl.files().isEmpty)
    }
}

extension TemporaryStore {
    /// Every byte of the queue's files.
    fileprivate func replayBytes() throws -> Data {
        try ["", "-wal"].reduce(into: Data()) { $0 += try Data(contentsOf: URL(filePath: store.replayPath + $1)) }
    }
}
