import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@Suite("cachectl explain", .limit(minutes: 5)) struct ExplainTests {
    private let cachectl = Shell()

    @Test func `describes the stored response, and what the next send does`() async throws {
        let server = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
        }
        _ = try await cachectl("send", server.base)
        let text = try await cachectl("explain", server.base).text
        #expect(text.contains("from max-age; fresh for "))
        #expect(text.contains("next        is answered from the cache\n"))
        #expect(text.contains("(RFC 9111 section 4.2)\n"))
        let json = try await cachectl("explain", server.base, "-p", "a=b", "--json")
        let explanation = try #require(JSONSerialization.jsonObject(with: json.output) as? [String: Any])
        #expect(explanation["clause"] as? String == "RFC 9111 section 4")
        #expect((explanation["stored"] as? [Any])?.isEmpty == true)
    }

    @Test func `says which bytes of a part are stored, and which requests it answers`() async throws {
        let server = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(
                "HTTP/1.1 206 Partial Content\r\nCache-Control: max-age=600\r\nETag: \"1\"\r\nConnection: close\r\n"
                    + "Content-Range: bytes 2-5/10\r\nContent-Length: 4\r\n\r\n2345")
        }
        _ = try await cachectl("send", server.base, "-H", "Range: bytes=2-5")
        for (range, isAnswered) in [("bytes=3-4", true), ("bytes=3-6", false)] {
            let arguments = ["explain", server.base, "-H", "Range: \(range)"]
            let text = try await cachectl(arguments).text
            #expect(text.contains("  part      bytes 2-5/10\n"), "\(text)")
            #expect(text.contains(", status 206, selected\n") == isAnswered, "\(text)")
            #expect(text.contains("next        is answered from the cache\n") == isAnswered, "\(text)")
            let json = try await cachectl(arguments + ["--json"])
            let explanation = try #require(JSONSerialization.jsonObject(with: json.output) as? [String: Any])
            let part = try #require((explanation["stored"] as? [[String: Any]])?.first)
            #expect(part["part"] as? String == "bytes 2-5/10")
            #expect(part["isSelected"] as? Bool == isAnswered)
        }
    }

    /// Targets that are not in normal form, and how they are shown.
    private static let targets = [
        ("/?b=2&a=1", "/?b=2&a=1"), ("//x/../y", "//x/../y"), ("/?a=%7E", "/?a=%7E"), ("/a|b", "/a|b"),
        ("/%zz?", "/%zz?"), ("/?token=s3cret&a=%7E", "/?token=•••&a=%7E"), ("/?to%6Ben=s3cret", "/?to%6Ben=•••"),
        ("/a?b=1", "/a?b=1"), ("/", "/"),
    ]

    @Test(arguments: targets)
    func `finds the response of a proxy by the target byte for byte, as log and list show it`(
        target: String, shown: String
    ) async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response("200 OK", "Cache-Control: max-age=600") }
        let proxy = try await RunningProxy(origin.base, shell: cachectl)
        for isHit in [false, true] { #expect(try await proxy.send("GET \(target)").isHit == isHit) }
        let url = origin.base + target
        let text = try await cachectl("explain", url, "--http", "--shared").text
        #expect(text.contains("url         \(origin.base)\(shown)\n"), "\(text)")
        #expect(text.contains("next        is answered from the cache\n"), "\(text)")
        #expect(text.contains("  field     response Cache-Control: max-age=600\n"))
        // Two spellings of one URL are two resources.
        let other = target.contains("?") ? target + "&" : target + "?"
        let miss = try await cachectl("explain", origin.base + other, "--http", "--shared").text
        #expect(miss.contains("next        sends the request to the server\n"), "\(miss)")
        let forgotten = try await cachectl("explain", url, "--http").text
        #expect(forgotten.contains("  kind      shared: add --shared\n"), "\(forgotten)")
        let list = try await cachectl("list").text
        #expect(list.contains(" \(origin.base)\(shown)\n"), "\(list)")
        let key = try #require(list.split(separator: "\n").last?.split(separator: " ").first)
        #expect(try await cachectl("show", String(key)).text.contains("url         \(origin.base)\(shown)\n"))
        proxy.signal(SIGTERM)
        let log = await proxy.ended().log
        #expect(log.count == 2 && log.allSatisfy { $0.contains("GET \(origin.base)\(shown) 200 ") }, "\(log)")
        #expect(!(text + list + log.joined()).contains("s3cret"))
    }

    @Test func `adds the parameters of the options to the target that a proxy forwards`() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response("200 OK", "Cache-Control: max-age=600") }
        let proxy = try await RunningProxy(origin.base, shell: cachectl)
        _ = try await proxy.send("GET /a?b=2&a=1")
        for arguments in [[origin.base + "/a?b=2#f", "-p", "a=1"], [origin.base + "/a", "-p", "b=2", "-p", "a=1"]] {
            let text = try await cachectl(["explain", "--http", "--shared"] + arguments).text
            #expect(text.contains("next        is answered from the cache\n"), "\(text)")
        }
    }

    @Test func `takes a key, and the beginning of one`() async throws {
        try await cachectl.store([StoredEntry(url: "http://h/a", body: Data())])
        let entries = try JSONSerialization.jsonObject(with: try await cachectl("list", "--json").output)
        let key = try #require((entries as? [[String: Any]])?.first?["key"] as? String)
        for prefix in [key, String(key.prefix(6)), key.prefix(6).uppercased()] {
            let text = try await cachectl("explain", prefix).text
            #expect(text.contains("key         \(key)\nurl         http://h/a\n"), "\(text)")
            #expect(text.contains("next        is answered from the cache\n"), "\(text)")
        }
        #expect(try await cachectl("explain", key, "-H", "Accept: a").status == 64)
        #expect(try await cachectl("explain", key, "--send").status == 64)
        #expect(try await cachectl("explain", String(key.reversed())).status == 1)
    }

    @Test func `lists the entries of the URL of another request`() async throws {
        let server = try RawServer(
            answering: "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        _ = try await cachectl("send", server.base, "-H", "Accept: text/csv")
        let text = try await cachectl("explain", server.base).text
        #expect(text.contains("stored      nothing; --send shows"), "\(text)")
        #expect(text.contains(", status 200\n  + header accept text/csv\nnext "), "\(text)")
    }

    @Test(arguments: [
        ("Cache-Control: no-store", [], "RFC 9111 section 5.2.2.5"),
        ("Cache-Control: private", ["--shared"], "RFC 9111 section 5.2.2.7"),
        ("Cache-Control: private", ["--shared", "--http"], "RFC 9111 section 5.2.2.7"),
        ("Vary: *", ["--http"], "RFC 9111 section 4.1"),
    ])
    func `sends the request with --send, and says why its response is not stored`(
        field: String, options: [String], clause: String
    ) async throws {
        let server = try RawServer(
            answering: "HTTP/1.1 200 OK\r\n\(field)\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
        let text = try await cachectl(["explain", "--send", server.base + "/?b=2&a=1"] + options).text
        #expect(text.contains("exchange    200 from network, not stored\n"), "\(text)")
        #expect(text.contains(" (\(clause))\n  field     response \(field)\n"), "\(text)")
        #expect(text.contains("stored      nothing\n"), "\(text)")
    }

    @Test(arguments: [[], ["--http", "--shared"]])
    func `sends the request with --send, and explains the stored response`(options: [String]) async throws {
        let server = try RawServer(
            answering: "HTTP/1.1 200 OK\r\nCache-Control: max-age=9\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi"
        )
        let text = try await cachectl(["explain", "--send", server.base] + options).text
        #expect(text.contains("exchange    200 from network, stored\n"), "\(text)")
        #expect(text.contains("next        is answered from the cache\n"), "\(text)")
    }

    @Test func `prints no secret`() async throws {
        let server = try RawServer { connection in
            guard connection.readHead() != nil else { return }
            connection.write(
                "HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
        }
        let url = server.base + "?token=s3cret"
        _ = try await cachectl("send", url, "-H", "Cookie: a=s3cret")
        for options in [[], ["--json"], ["--http"], ["--shared"]] {
            let outcome = try await cachectl(["explain", url, "-H", "Cookie: a=s3cret"] + options)
            #expect(outcome.status == 0)
            #expect(!outcome.text.contains("s3cret"))
        }
    }

    @Test func `creates no store`() async throws {
        #expect(try await cachectl("explain", "http://h.x/").status == 4)
        #expect(
            !FileManager.default.fileExists(atPath: cachectl.temporary.directory.appending(path: "cache.sqlite").path))
    }
}
