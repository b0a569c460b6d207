import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct `cachectl explain` {
    private let cachectl = Shell()

    @Test func `says what is stored, and what the next send does`() async throws {
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
