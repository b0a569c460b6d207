import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl, inspecting a store", .limit(minutes: 5)) struct InspectionTests {
    let cachectl = Shell()

    private func fill() async throws -> String {
        let url = try await SampleServer.shared.base + "/cities"
        for country in ["IS", "LU"] { _ = try await cachectl("send", url, "-p", "country=\(country)") }
        return url
    }

    @Test func `lists entries in aligned columns, the newest first`() async throws {
        let url = try await fill()
        let lines = try await cachectl("list").text.split(separator: "\n").map(String.init)
        #expect(lines.count == 3)
        #expect(lines[0].hasPrefix("KEY           METHOD  STATUS "))
        #expect(lines[1].hasSuffix("\(url)?country=LU"))
        #expect(lines[2].hasSuffix("\(url)?country=IS"))
        let columns = Set(lines.map { $0.firstRange(of: "http://")?.lowerBound.utf16Offset(in: $0) ?? $0.count - 3 })
        #expect(columns.count == 1)
        #expect(try await cachectl("list", "--limit", "1").text.split(separator: "\n").count == 2)
    }

    @Test func `lists entries as JSON with --json`() async throws {
        let url = try await fill()
        let listed = try await cachectl("list", "--json", "--limit", "1")
        let entries = try #require(JSONSerialization.jsonObject(with: listed.output) as? [[String: Any]])
        #expect(entries.count == 1)
        #expect(entries[0]["url"] as? String == "\(url)?country=LU")
        #expect((entries[0]["key"] as? String)?.count == 64)
        #expect(entries[0]["fresh"] as? Int ?? 0 > 0)
    }

    @Test func `shows an entry by a prefix of its key, and only its body with --body`() async throws {
        let url = try await fill()
        let form = try await cachectl("key", url, "-p", "country=IS").text
        let key = try #require(form.split(separator: "\n").last?.dropFirst(4).prefix(10))
        let shown = try await cachectl("show", String(key)).text
        #expect(shown.contains("query country=IS"))
        #expect(shown.contains("status 200"))
        #expect(shown.contains("ETag: ") || shown.contains("etag: "))
        let body = try await cachectl("show", String(key), "--body")
        #expect(body.text.contains("Reykjav"))
        let json = try await cachectl("show", String(key), "--json")
        #expect(try JSONSerialization.jsonObject(with: json.output) is [String: Any])
    }

    @Test func `prints the number and size of the entries`() async throws {
        _ = try await fill()
        let text = try await cachectl("stats").text
        #expect(text.contains("entries  2\n"))
        let json = try await cachectl("stats", "--json")
        let figures = try #require(JSONSerialization.jsonObject(with: json.output) as? [String: Any])
        #expect(figures["entries"] as? Int == 2)
        #expect(figures["bodyBytes"] as? Int ?? 0 > 0)
    }

    @Test func `purges one entry or all entries, and only prints their number with --dry-run`() async throws {
        let url = try await fill()
        let key = try await cachectl("key", url, "-p", "country=IS", "--json")
        let digits = try #require(JSONSerialization.jsonObject(with: key.output) as? [String: String])["key"] ?? ""
        #expect(try await cachectl("purge", digits, "--dry-run").text == "would erase 1 entry\n")
        #expect(try await cachectl("purge", digits).text == "erased 1 entry\n")
        #expect(try await cachectl("purge", digits).status == 1)
        #expect(try await cachectl("purge", "--all", "--dry-run").text == "would erase 1 entry\n")
        #expect(try await cachectl("purge", "--all").text == "erased 1 entry\n")
        #expect(try await cachectl("list", "--json").text.filter { !$0.isWhitespace } == "[]")
        #expect(try await cachectl("purge").status == 64)
    }

    @Test(arguments: ["list", "stats", "show abc", "purge --all", "downloads", "downloads rm --all"])
    func `creates no store, and exits with 4 if there is none`(command: String) async throws {
        var tool = BuiltTool("cachectl")
        tool.environment = ["DIAMOND_STORE": cachectl.temporary.directory.path]
        let outcome = try await tool.run(command.split(separator: " ").map(String.init))
        #expect(outcome.status == 4)
        #expect(outcome.errors.contains("there is no store in \(cachectl.temporary.directory.path)"))
        #expect(!FileManager.default.fileExists(atPath: cachectl.temporary.directory.path))
    }

    @Test func `finds the default store of a program with --app, separate from the stores of other programs`()
        async throws
    {
        var tool = BuiltTool("cachectl")
        let home = cachectl.temporary.directory
        tool.environment = [
            "DIAMOND_STORE": "", "XDG_CACHE_HOME": home.path, "XDG_DATA_HOME": home.appending(path: "data").path,
            "HOME": home.path,
        ]
        _ = try Cache(Store(directory: home.appending(path: "Diamond/shop")))
        #expect(try await tool.run(["list", "--app", "shop"]).status == 0)
        let other = try await tool.run(["list", "--app", "../shop"])
        #expect(other.status == 4 && other.errors.contains("%2E.%2Fshop"))
        #expect(try await tool.run(["list"]).errors.contains("Diamond/cachectl"))
        for options in [["--app", ""], ["--app", "shop", "--store", home.path]] {
            #expect(try await tool.run(["list"] + options).status == 64)
        }
    }

    @Test func `finds the store of a program by its name, and lists the candidates if several programs have that name`()
        async throws
    {
        var tool = BuiltTool("cachectl")
        let home = cachectl.temporary.directory
        tool.environment = ["XDG_CACHE_HOME": home.path, "XDG_DATA_HOME": home.path + "/data"]
        let (one, two) = ("my shop-0123456789ab", "my shop-ba9876543210")
        _ = try Cache(Store(directory: home.appending(path: "Diamond/my%20shop-0123456789ab")))
        _ = try Cache(Store(directory: home.appending(path: "Diamond/my%20shop-window")))
        #expect(try await tool.run(["list", "--app", "my shop"]).status == 0)
        #expect(try await tool.run(["list", "--app", "my"]).status == 4)
        _ = try ReplayQueue(Store(directory: home.appending(path: "data/Diamond/my%20shop-ba9876543210")))
        let outcome = try await tool.run(["list", "--app", "my shop"])
        #expect(outcome.status == 64)
        #expect(
            outcome.errors.hasPrefix(
                "Error: several programs are called 'my shop': choose one with --app '\(one)', --app '\(two)'\n"))
        #expect(try await tool.run(["list", "--app", one]).status == 0)
        #expect(try await tool.run(["queue", "list", "--app", two]).status == 0)
        _ = try Cache(Store(directory: home.appending(path: "Diamond/my%20shop")))
        #expect(try await tool.run(["list", "--app", "my shop"]).status == 0)
    }

    @Test func `uses the home directory of the password database if HOME is not set`() async throws {
        let home = try #require(UserDirectories.passwordHome)
        var tool = BuiltTool("cachectl")
        let path = tool.url.path
        tool.url = URL(filePath: "/usr/bin/env")
        let unset = ["-u", "HOME", "-u", "XDG_CACHE_HOME", "-u", "XDG_DATA_HOME", "-u", "DIAMOND_STORE"]
        let outcome = try await tool.run(unset + [path, "list", "--app", "none-of-it"])
        let place = "\(home)/.cache/Diamond/none-of-it"
        #expect(outcome.status == 4 && outcome.errors.contains("there is no store in \(place)"))
        let lost = try await tool.run(unset + ["HOME=/dev/null", path, "queue", "add", "http://h/"])
        #expect(lost.status == 4 && lost.errors.contains("cannot create the store directory /dev/null/.local/share"))
        #expect(lost.errors.contains("use another directory (--store)"))
    }

    @Test func `exits with 1 for a key that is not stored`() async throws {
        _ = try await fill()
        #expect(try await cachectl("show", "zz").status == 1)
        #expect(try await cachectl("show", "").status == 1)
    }

    @Test func `prefers --store to DIAMOND_STORE`() async throws {
        _ = try await fill()
        let other = TemporaryStore()
        #expect(try await cachectl("stats", "--store", other.directory.path).status == 4)
    }

    @Test func `prints the canonical form and the key`() async throws {
        let outcome = try await cachectl("key", "HTTP://H/?b=1", "-p", "a=2", "-H", "Accept-Language: de")
        #expect(
            outcome.text == """
                diamond 1
                method GET
                origin http://h
                path /
                query a=2
                query b=1
                header accept-language de
                key aa8a572070806661b3cc0af3596c9654260f1d4f574ea972998ab8c4600c3646

                """
        )
    }

    @Test func `explains each line of a canonical form, and the parts of a request that it omits`() async throws {
        let file = try cachectl.file(
            "request.json",
            #"{"url": "http://h/?_=1&a=2", "headers": {"Accept-Language": "de", "Cookie": "c"}, "ignoring": ["_"]}"#
        )
        let outcome = try await cachectl("key", file, "--identity", "user-42", "--explain")
        #expect(
            outcome.text == """
                diamond 1
                    the version of the form
                identity user-42
                    the identity replaces credentials
                method GET
                    as sent; HEAD counts as GET
                origin http://h
                    lower case, without the scheme's own port
                path /
                    dot segments removed, escapes in one form
                query a=2
                    an item of the query or a parameter, sorted by name
                header accept-language de
                    a header that selects the response, sorted by name
                (header cookie)
                    the identity replaces it
                (header user-agent)
                    does not select a response
                (parameter _)
                    is ignored by the rules

                """
        )
        let json = try await cachectl("key", file, "--explain", "--json")
        let object = try #require(JSONSerialization.jsonObject(with: json.output) as? [String: [[String: String]]])
        #expect(object["lines"]?.first == ["line": "diamond 1", "rule": "the version of the form"])
        #expect(object["omissions"]?.count == 2)
    }

    #if !canImport(Darwin)
    @Test func `prints the key that send uses, in the environment's language`() async throws {
        let url = try await SampleServer.shared.base + "/cities"
        func key(_ environment: [String: String], _ options: String...) async throws -> String {
            let form = try await cachectl(["key", url] + options, environment: environment).text
            return String(form.split(separator: "\n").last?.dropFirst(4) ?? "")
        }
        let german = ["LC_ALL": "", "LANG": "de_DE.UTF-8", "LANGUAGE": ""]
        _ = try await cachectl(["send", url], environment: german)
        let listed = try await cachectl("list", "--json").output
        let entries = try #require(JSONSerialization.jsonObject(with: listed) as? [[String: Any]])
        #expect(try await entries.map { $0["key"] as? String } == [key(german)])
        #expect(
            try await cachectl(["key", url], environment: german).text.contains("\nheader accept-language de-DE\n"))
        #expect(try await key(german) == key(["LC_ALL": "de_DE", "LANG": "fr", "LANGUAGE": ""]))
        #expect(try await key(german) != key(["LC_ALL": "fr"]))
        #expect(try await key(german, "-H", "Accept-Language: en") == key([:], "-H", "Accept-Language: en"))
        #expect(try await key(["LC_ALL": "C"]) == key(["LC_ALL": "POSIX"]))
        #expect(try await !cachectl("key", url).text.contains("accept-language"))
    }
    #endif

    @Test func `explains which parts of a body a canonical form omits`() async throws {
        let rules = #""method": "POST", "identity": "me", "ignoring": ["_"], "secrets": ["password"]"#
        let bodies = [
            (#"{"json": {"_": 1, "user": {"password": "s3cret"}}}"#, ["member _", "member user.password"]),
            (#"{"form": {"_": 1, "password": "s3cret"}}"#, ["field _", "field password"]),
            (
                #"{"multipart": [{"name": "_", "text": "1"}, {"name": "password", "text": "s3cret"}]}"#,
                ["part _", "part password"]
            ),
        ]
        for (body, names) in bodies {
            let file = try cachectl.file("request.json", #"{"url": "http://h/", "body": \#(body), \#(rules)}"#)
            let text = try await cachectl("key", file, "--explain").text
            let ends = "(\(names[0]))\n    is ignored by the rules\n(\(names[1]))\n    the identity replaces it\n"
            #expect(text.hasSuffix(ends), "\(text)")
            #expect(!text.contains("s3cret"))
        }
    }

    @Test func `shows where two requests differ`() async throws {
        let same = try await cachectl("key", "http://h/?a=1&b=2", "HTTP://H:80/?b=2&a=1")
        #expect(same.status == 0)
        #expect(same.text.hasPrefix("the same: key "))
        let different = try await cachectl("key", "http://h/?a=1", "curl http://h/?a=2 -H 'Accept: text/plain'")
        #expect(different.status == 1)
        #expect(different.text == "- query a=1\n+ query a=2\n+ header accept text/plain\n")
        let wrong = try await cachectl("key", "http://h/", "curl http://h/ --output")
        #expect(wrong.status == 64)
        #expect(wrong.errors.hasPrefix("cachectl: "))
    }

    @Test func `lists its exit codes in its help`() async throws {
        let help = try await cachectl("--help").text
        for code in [
            "0   done", "1   no entry or job", "2   the server", "3   no response", "4   the store", "64  wrong",
        ] {
            #expect(help.contains(code))
        }
    }
}
