import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond
@testable import cachectl

/// What the pages read and show of bodies.
extension InspectorPageTests {
    @Test(arguments: [String.Encoding.isoLatin1, .utf16LittleEndian, .utf16BigEndian])
    func `a body in another charset has no secret, either`(encoding: String.Encoding) async throws {
        let body = try #require("{\"access_token\":\"SECRET\",\"name\":\"M\u{fc}ller\"}".data(using: encoding))
        let secret = try #require("SECRET".data(using: encoding))
        try await cachectl.store([
            StoredEntry(url: "http://h/a", headers: "Content-Type: application/json\n", body: body)
        ])
        let browser = try await RunningInspector(shell: cachectl).enter()
        let key = try #require(try await keys().first)
        for (path, answer) in try await pages(browser, key: key) {
            // Two bytes of each character are two characters in an HTML page and in a dump.
            let text = answer.body.filter { $0 != "." && $0 != "\u{0}" }
            #expect(!text.contains("SECRET"), "\(path)")
        }
        let archives = [
            Data(try await browser.get("/entries/\(key)/har").body.utf8), try await cachectl("export", "--har").output,
        ]
        for archive in archives {
            let content = try #require(StrictArchive.entries(of: archive).first).response.content
            let bytes = try #require(Data(base64Encoded: content.text))
            #expect(bytes.firstRange(of: secret) == nil && !bytes.isEmpty)
        }
        #expect(try await browser.get("/entries?body=SECRET").body.contains("0 entries"))
    }

    @Test func `what only looks leaves the store as it is`() async throws {
        try await cachectl.store([StoredEntry(url: "http://h/sound"), StoredEntry(url: "http://h/damaged")])
        let damaged = "SELECT id << 20 FROM entry WHERE url = 'http://h/damaged'"
        try cachectl.temporary.run("UPDATE body SET bytes = CAST('evil' AS BLOB) WHERE id = (\(damaged))")
        let before = try cachectl.temporary.entries()
        let keys = try await keys()
        let browser = try await RunningInspector(shell: cachectl).enter()
        for key in keys { _ = try await pages(browser, key: key) }
        for query in ["body=body", "field=ETag"] { _ = try await browser.get("/entries?\(query)") }
        #expect(try await browser.get("/entries/\(keys[1])").body.contains("The response cannot be read"))
        #expect(await browser.inspector.ended(after: SIGINT) == .exited(0))
        let commands = [["explain", "http://h/sound"], ["export", "--har"], ["diff"] + keys]
        for arguments in commands + keys.flatMap({ [["show", $0], ["explain", $0]] }) {
            _ = try await cachectl(arguments)
        }
        #expect(try cachectl.temporary.entries() == before && before != nil)
    }

    @Test func `a large body is neither shown nor searched, and the page says so`() async throws {
        let body = Data(repeating: UInt8(ascii: "x"), count: FoundEntry.bodyLimit + 1)
        try await cachectl.store([StoredEntry(url: "http://h/large", body: body)])
        let browser = try await RunningInspector(shell: cachectl).enter()
        let path = "/entries/\(try #require(try await keys().first))"
        let page = try await browser.get(path).body
        #expect(page.contains("are not shown") && page.utf8.count < 100_000)
        #expect(page.contains("RFC 9111 section 4.2"))
        let search = try await browser.get("/entries?body=xx").body
        #expect(search.contains("0 entries; bodies above 8.0 MiB are not searched: 1"), "\(search)")
        #expect(try await browser.get("/entries?field=ETag").body.contains(">1 entry<"))
    }

    @Test func `an image has a path of its own, and no other body has it`() async throws {
        let picture = Data([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 73, 72, 68, 82])
        try await cachectl.store([
            StoredEntry(url: "http://h/picture", body: picture + [0, 0, 0, 2, 0, 0, 0, 3]),
            StoredEntry(url: "http://h/page", headers: "Content-Type: image/svg+xml\n", body: Data("<svg/>".utf8)),
        ])
        let browser = try await RunningInspector(shell: cachectl).enter()
        let keys = try await keys()
        let page = try await browser.get("/entries/\(keys[0])").body
        #expect(page.contains("<img class=\"body\" src=\"/entries/\(keys[0])/image\"") && page.contains("2 × 3 pixels"))
        let image = try await browser.get("/entries/\(keys[0])/image")
        #expect(image.values("Content-Type") == ["image/png"] && image.values("Content-Length") == ["24"])
        #expect(image.values("Content-Security-Policy").first?.contains("img-src 'self';") == true)
        #expect(try await browser.get("/entries/\(keys[1])/image").status == 404)
    }
}
