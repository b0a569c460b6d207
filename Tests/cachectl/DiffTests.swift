import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl diff and queue diff", .limit(minutes: 5)) struct DiffTests {
    let cachectl = Shell()

    private func keys() async throws -> [String] {
        let listed = try JSONSerialization.jsonObject(with: try await cachectl("list", "--by", "url", "--json").output)
        return try #require(listed as? [[String: Any]]).compactMap { $0["key"] as? String }
    }

    @Test func `prints the lines that differ, with the numbers of the body's`() async throws {
        let entry = { (url: String, status: Int, type: String, body: String) in
            StoredEntry(url: url, status: status, headers: "Content-Type: \(type)\nETag: 1\n", body: Data(body.utf8))
        }
        try await cachectl.store([
            entry("https://a.example/?page=1", 200, "text/a", #"{"id":1,"names":["a","b"],"end":true}"#),
            entry("https://a.example/?page=2", 404, "text/b", #"{"id":1,"names":["a","c\u202e","d"],"end":true}"#),
        ])
        let keys = try await keys()
        let outcome = try await cachectl(["diff"] + keys)
        #expect(outcome.status == 1 && outcome.errors.isEmpty)
        #expect(
            outcome.text == #"""
                REQUEST
                - query page=1
                + query page=2
                RESPONSE
                - status 200
                + status 404
                - Content-Type: text/a
                + Content-Type: text/b
                BODY
                - 5:     "b"
                + 5:     "c\u202e",
                + 6:     "d"

                """#)
        let form = try #require(try await cachectl.object("diff", keys[0], keys[1]) as? [String: [String: [String]]])
        #expect(form["request"] == ["onlyFirst": ["query page=1"], "onlySecond": ["query page=2"]])
        #expect(form["response"]?["onlyFirst"] == ["status 200", "Content-Type: text/a"])
        let same = try await cachectl("diff", keys[0], keys[0])
        #expect(same.status == 0 && same.text == "the same\n")
        #expect(try await cachectl("diff", keys[0], "zz").status == 1)
    }

    @Test func `compares other bodies by their sizes and hashes, and long ones in time`() async throws {
        let text = (0..<100_000).map { "\($0)\n" }.joined()
        let other = (0..<100_000).map { "\($0 * 2 + 1)\n" }.joined()
        try await cachectl.store([
            StoredEntry(url: "https://a.example/1", body: Data([0xFF, 1])),
            StoredEntry(url: "https://a.example/2", body: Data([0xFF, 2])),
            StoredEntry(url: "https://a.example/3", body: Data("0\n\(text)".utf8)),
            StoredEntry(url: "https://a.example/4", body: Data("0\n\(other)".utf8)),
        ])
        let keys = try await keys()
        let lines = try await cachectl("diff", keys[0], keys[1]).text.split(separator: "\n")
        #expect(lines.count { $0.contains("2 bytes, XXH3 ") } == 2)
        let long = try await cachectl("diff", keys[2], keys[3]).text
        #expect(long.contains("\n- 2: 0\n+ 2: 1\n- 3: 1\n+ 3: 3\n"))
    }

    @Test func `prints what the engine adds to a job, and whether its secrets are set`() async throws {
        let file = try cachectl.file(
            "request.json",
            #"""
            {"url": "https://a.example/", "method": "POST", "headers": [["User-Agent", "a"]], "credentials":
             [{"header": "Authorization", "prefix": "Bearer ", "secret": "github-token"}]}
            """#)
        let added = try await cachectl("queue", "add", file)
        #expect(added.text == "1\n", "\(added.errors)")
        let environment = ["GITHUB_TOKEN": "s3cret", "LC_ALL": "", "LANG": "de_DE.UTF-8", "LANGUAGE": ""]
        let outcome = try await cachectl(["queue", "diff", "1"], environment: environment)
        #expect(outcome.status == 1 && !outcome.text.contains("s3cret"))
        #expect(outcome.text.contains("+ headers: [\"Accept-Language\",\"de-DE"), "\(outcome.text)")
        #expect(outcome.text.hasSuffix("secret github-token: GITHUB_TOKEN is set\n"))
        let missing = try await cachectl(["queue", "diff", "1", "--json"], environment: ["GITHUB_TOKEN": ""])
        let form = try JSONSerialization.jsonObject(with: missing.output) as? [String: Any]
        #expect(form?["missingSecrets"] as? [String] == ["github-token"] && missing.status == 1)
        #expect(try await cachectl("queue", "diff", "9").status == 1)
    }
}
