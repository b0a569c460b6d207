import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct `cachectl explain` {
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
