import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("cachectl send --assert", .limit(minutes: 5)) struct AssertionTests {
    let cachectl = Shell()

    private static let body =
        #"{"name": "Paris", "count": 3, "zip": "12345", "tags": ["a", 2], "a b": {"x/y": true}, "none": null}"#

    private static func origin(_ status: String = "200 OK") throws -> ScriptedOrigin {
        try ScriptedOrigin { _ in
            ScriptedOrigin.response(status, "X-Limit: 20", "Content-Type: application/json; charset=utf-8", body: body)
        }
    }

    @Test(arguments: [
        "status == 200", "status != 404", "status < 300", "status >= 200", "source == network", "duration < 600000",
        "duration > 0", "header:X-Limit == 20", "header:x-limit <= 20", "header:Content-Type contains json",
        "header:Content-Type matches ^application/", "body contains Paris", "/name == Paris", #"/name == "Paris""#,
        "/name matches ^P.*s$", "/name contains ari", "/count == 3", "/count == 3.0", "/count > 2.5", "/count <= 3",
        #"/zip == "12345""#, "/zip != 12345", "/tags/1 == 2", #"/tags contains "a""#, "/tags contains 2",
        #"/tags == ["a", 2]"#, "/a b/x~1y == true", "/a b/x~1y exists", "/none exists", "/none == null",
        "  /count   ==   3  ",
    ]) func `holds`(condition: String) async throws {
        let origin = try Self.origin()
        defer { withExtendedLifetime(origin) {} }
        let sent = try await cachectl("send", origin.base, "--assert", condition)
        #expect(sent.status == 0 && sent.text == Self.body, "\(sent.errors)")
    }

    /// Conditions that do not hold, and the message.
    private static let failing = [
        ("status == 404", "assertion 'status == 404' failed: it is 200"),
        ("source == cache", #"assertion 'source == "cache"' failed: it is "network""#),
        ("header:X-Limit > 20", #"assertion 'header:X-Limit > "20"' failed: it is "20""#),
        ("header:X-Other exists", "assertion 'header:X-Other exists' failed: it is absent"),
        ("/name == Rome", #"assertion '/name == "Rome"' failed: it is "Paris""#),
        ("/name > 5", #"assertion '/name > 5' failed: it is "Paris""#),
        ("/name != Paris", #"assertion '/name != "Paris"' failed: it is "Paris""#),
        ("/zip == 12345", #"assertion '/zip == 12345' failed: it is "12345""#),
        ("/count matches ^4", #"assertion '/count matches "^4"' failed: it is 3"#),
        ("/tags contains b", #"assertion '/tags contains "b"' failed: it is ["a",2]"#),
        ("/tags/01 == 2", "assertion '/tags/01 == 2' failed: it is absent"),
        ("/tags/- exists", "assertion '/tags/- exists' failed: it is absent"),
        ("/none/x == 1", "assertion '/none/x == 1' failed: it is absent"),
        ("/other != 1", "assertion '/other != 1' failed: it is absent"),
        ("link:next exists", "assertion 'link:next exists' failed: it is absent"),
    ]

    @Test(arguments: failing) func `exits with 7, and says what was expected and what was found`(
        condition: String, message: String
    ) async throws {
        let origin = try Self.origin()
        defer { withExtendedLifetime(origin) {} }
        let sent = try await cachectl("send", origin.base, "--assert", "status == 200", "--assert", condition)
        #expect(sent.status == 7 && sent.text == Self.body)
        #expect(sent.errors.hasSuffix("cachectl: \(message)\n"), "\(sent.errors)")
    }

    @Test(arguments: [
        ("status", "is malformed"), ("status = 200", "is malformed"), ("status ==", "is malformed"),
        ("/a exists 1", "is malformed"), ("state == 1", "'state' is no part of a response"),
        ("/a~2 == 1", "is no part of a response"), ("header: == 1", "is no part of a response"),
        ("/count < many", "write a number"), ("/name matches (", "malformed regular expression"),
        ("status == ${", "write ${name}"), ("status == ${DIAMOND_NOT_SET}", "${DIAMOND_NOT_SET} has no value"),
    ]) func `refuses a malformed condition before it sends`(condition: String, part: String) async throws {
        let origin = try Self.origin()
        let sent = try await cachectl("send", origin.base, "--assert", condition)
        #expect(sent.status == (part.contains("has no value") ? 8 : 64), "\(sent.errors)")
        #expect(sent.errors.contains(part) && origin.requests.isEmpty, "\(sent.errors)")
        #expect(sent.errors.split(separator: "\n").count == 1, "\(sent.errors)")
    }

    @Test func `an error status is a failure, unless a condition is about the status`() async throws {
        let origin = try Self.origin("404 Not Found")
        #expect(try await cachectl("send", origin.base, "--assert", "/count == 3").status == 2)
        #expect(try await cachectl("send", origin.base, "--assert", "status == 404").status == 0)
        #expect(try await cachectl("send", origin.base, "--assert", "status == 200").status == 7)
        let refused = try await cachectl("send", "http://127.0.0.1:1/", "--assert", "status == 200")
        #expect(refused.status == 3)
    }

    @Test func `the failures are in the JSON, and an operand can be a captured value`() async throws {
        let origin = try Self.origin()
        let text = """
            [{"url": "\(origin.base)/1", "capture": {"zip": "/zip", "count": "/count"}, "assert": ["status == 200"]},
             {"url": "\(origin.base)/2", "assert": ["/zip == ${zip}", "/count == ${count}", "/count == ${zip}"]}]
            """
        let sent = try await cachectl("send", cachectl.file("requests.json", text), "--json")
        let last = try #require(sent.text.split(separator: "\n").last)
        let form = try #require(JSONSerialization.jsonObject(with: Data(last.utf8)) as? [String: Any])
        // The captured text may be a secret.
        #expect(form["problems"] as? [String] == [#"assertion '/count == "•••"' failed: it is 3"#], "\(sent.text)")
        #expect(sent.status == 7)
    }

    /// Conditions about values that are secret by their names.
    private static let secrets = [
        "/access_token == s3cret-1", "/user/password == s3cret-1", "header:X-Auth-Token == s3cret-1", "/user == 1",
        "body == 1", "/next == 1", "/long == 1",
    ]

    @Test(arguments: secrets)
    func `shows no secrets, and no more than 80 characters`(condition: String) async throws {
        let long = String(repeating: "x", count: 2000)
        let body = """
            {"access_token": "s3cret", "user": {"password": "s3cret"}, "next": "/?api_key=s3cret", "long": "\(long)"}
            """
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response("200 OK", "X-Auth-Token: s3cret", body: body) }
        let sent = try await cachectl("send", origin.base, "--assert", condition)
        #expect(sent.status == 7 && sent.errors.utf8.count < 400, "\(sent.errors)")
        #expect(!sent.errors.contains("s3cret"), "\(sent.errors)")
    }

    @Test func `says that a body is not JSON`() async throws {
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.response(body: "<html>") }
        let sent = try await cachectl("send", origin.base, "--assert", "/id exists")
        #expect(sent.status == 7)
        #expect(sent.errors.hasSuffix("'/id exists' failed: it is absent, because the body is not JSON\n"))
    }
}
