import DiamondTestSupport
import Foundation
import Testing

@Suite("cachectl list, its filters, and the bodies of show", .limit(minutes: 5)) struct EntryFilterTests {
    let cachectl = Shell()

    private func fill() async throws {
        try await cachectl.store([
            StoredEntry(url: "https://a.example/Cities?page=1"),
            StoredEntry(url: "https://a.example/none", status: 404, age: 90_000),
            StoredEntry(url: "https://b.example/gone", status: 410, age: 30_000),
            StoredEntry(url: "https://b.example/large", body: Data(count: 2000), age: 90_000, lifetime: nil),
        ])
    }

    @Test(arguments: [
        (["--status", "404"], ["a/none"]), (["--status", "4xx"], ["b/gone", "a/none"]),
        (["--status", "200-299", "--status", "410"], ["a/Cities?page=1", "b/gone", "b/large"]),
        (["--older-than", "20s", "--status", "4xx"], ["b/gone", "a/none"]),
        (["--older-than", "1m"], ["a/none", "b/large"]), (["--larger-than", "1kB"], ["b/large"]),
        (["--stale"], ["a/none"]), (["--match", "CITIES?PAGE"], ["a/Cities?page=1"]),
        (["--match", "b.*/LARGE"], ["b/large"]), (["--match", "large*b"], []),
        (["--match", "example", "--limit", "2", "--by", "url"], ["a/Cities?page=1", "a/none"]),
        (["--match", "g", "--host", "b.example"], ["b/gone", "b/large"]),
    ]) func `lists the entries that match all filters`(arguments: [String], expected: [String]) async throws {
        try await fill()
        let listed = try await cachectl(["list", "--json"] + arguments)
        let entries = try #require(JSONSerialization.jsonObject(with: listed.output) as? [[String: Any]])
        let names = entries.compactMap {
            ($0["url"] as? String)?.dropFirst(8).replacing(".example", with: "").description
        }
        #expect(names == expected, "\(listed.errors)")
    }

    @Test func `continues a filtered list after its cursor`() async throws {
        try await fill()
        let first = try await cachectl("list", "--status", "4xx", "--limit", "1")
        let cursor = try #require(first.errors.wholeMatch(of: /there is more: --after (\S+)\n/)).1
        let rest = try await cachectl("list", "--status", "4xx", "--after", String(cursor))
        #expect(rest.text.contains("a.example/none") && rest.text.split(separator: "\n").count == 2)
        #expect(rest.errors.isEmpty)
        #expect(try await cachectl("list", "--status", "500").errors == "no entry matches\n")
    }

    @Test(arguments: [
        ["--status", "40"], ["--status", "5xx-6xx"], ["--status", "300-200"], ["--status", "0xx"], ["--match", "*"],
        ["--larger-than", "many"],
    ]) func `refuses a filter that it cannot read`(arguments: [String]) async throws {
        try await fill()
        #expect(try await cachectl(["list"] + arguments).status == 64)
    }

    private func key() async throws -> String {
        let entries = try JSONSerialization.jsonObject(with: try await cachectl("list", "--json").output)
        return try #require((entries as? [[String: Any]])?.first?["key"] as? String)
    }

    @Test func `writes a body to a file`() async throws {
        let body = Data([0x1B, 0xFF, 0x00])
        try await cachectl.store([StoredEntry(url: "https://a.example/", body: body)])
        let file = try cachectl.file("body", "before")
        let outcome = try await cachectl("show", try await key(), "--output", file)
        #expect(outcome.status == 0 && outcome.text.isEmpty && outcome.errors == "wrote 3 B to \(file)\n")
        #expect(FileManager.default.contents(atPath: file) == body)
        let refused = try await cachectl("show", try await key(), "--output", "/nonexistent/\u{1B}")
        #expect(
            refused.status == 74 && refused.errors.contains("cannot be written") && !refused.errors.contains("\u{1B}"))
        for other in ["--body", "--json", "--raw"] {
            #expect(try await cachectl("show", try await key(), "--output", file, other).status == 64)
        }
    }

    @Test func `indents JSON on a terminal, and keeps its numbers and escapes`() async throws {
        let body = #"{"n":9007199254740993.10,"a":[ ],"s":"a\"{,\\","l":[1,{"b":null}],"o":{}}"#
        try await cachectl.store([StoredEntry(url: "https://a.example/", body: Data(body.utf8))])
        let shown = try await cachectl.tool().runOnTerminal(["show", try await key(), "--body"])
        #expect(
            shown.text == #"""
                {
                  "n": 9007199254740993.10,
                  "a": [],
                  "s": "a\"{,\\",
                  "l": [
                    1,
                    {
                      "b": null
                    }
                  ],
                  "o": {}
                }

                """#)
        #expect(try await cachectl.tool().runOnTerminal(["show", try await key(), "--body", "--raw"]).text == body)
        #expect(try await cachectl("show", try await key(), "--body").text == body)
    }

    /// The first bytes of images, in hexadecimal digits.
    private static let images =
        [
            ("89504e470d0a1a0a0000000d4948445200000280000001e0", "PNG, 640 × 480 pixels"),
            ("47494638396180020100", "GIF, 640 × 1 pixels"),
            ("ffd8ffe000040102ffffc2000b0801e00280030122", "JPEG, 640 × 480 pixels"),
            ("524946460000000057454250565038580a000000000000007f0200df0100", "WebP, 640 × 480 pixels"),
            ("52494646000000005745425056503820000000000000000000008002e001", "WebP, 640 × 480 pixels"),
            ("52494646000000005745425056503 84c400000002f7fc277000000000000", "WebP, 640 × 480 pixels"),
            ("89504e470d0a1a0a00", nil), ("ffd8ffe0ffff00000000000000", nil), ("ffd8ffffffffffffffffffff", nil),
            ("", nil),
        ] as [(String, String?)]

    @Test(arguments: images) func `prints the size of an image`(digits: String, size: String?) async throws {
        let digits = Array(digits.filter { $0 != " " })
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(digits[$0...($0 + 1)]), radix: 16)
        }
        try await cachectl.store([StoredEntry(url: "https://a.example/", body: Data(bytes))])
        let shown = try await cachectl("show", try await key())
        #expect(shown.status == 0 && shown.text.contains("body        \(bytes.count) B"))
        #expect(shown.text.contains("pixels") == (size != nil) && shown.text.contains(size ?? "body"), "\(shown.text)")
        let image = try #require(try await cachectl.object("show", try await key())?["image"] as? [String: Any]?)
        #expect((image?["width"] as? Int) == (size == nil ? nil : 640))
    }
}
