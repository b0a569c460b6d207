import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("The tables of cachectl", .limit(minutes: 2)) struct TableTests {
    private let cachectl = Shell()

    private let url = "http://127.0.0.1:9/" + String(repeating: "long/", count: 40)

    @Test(arguments: [80, 200] as [UInt16]) func `are cut to the width of the terminal, and have no colors`(
        columns: UInt16
    ) async throws {
        try await cachectl.store([StoredEntry(url: url), StoredEntry(url: "http://127.0.0.1:9/")])
        for variables in [[:], ["NO_COLOR": "1"]] as [[String: String]] {
            let shown = try await cachectl.tool(variables).runOnTerminal(["list"], columns: columns)
            let lines = shown.text.split(separator: "\n")
            #expect(shown.ending == .exited(0) && lines.count == 3 && !shown.text.contains("\u{1B}"))
            #expect(lines.allSatisfy { $0.count <= Int(columns) })
            #expect(lines.contains { $0.count == Int(columns) && $0.hasSuffix("…") })
        }
    }

    @Test func `are not cut in a pipe`() async throws {
        try await cachectl.store([StoredEntry(url: url)])
        #expect(try await cachectl("list").text.contains(url + "\n"))
    }

    @Test func `have whole ordering keys in a pipe, and short ones on a terminal`() async throws {
        let key = "the ordering key of a whole cart"
        try await enqueue(key)
        #expect(try await cachectl("queue", "keys").text.contains(key))
        let shown = try await cachectl.tool().runOnTerminal(["queue", "keys"], columns: 200)
        #expect(shown.text.contains("the ordering key of…  "))
    }

    @Test func `count two columns for a wide character`() async throws {
        try await enqueue("日本")
        try await enqueue("abcdef")
        // Symbols that are shown as pictures, and one that is not.
        try await enqueue("✅⭐⚡")
        try await enqueue("✓")
        let lines = try await cachectl("queue", "keys").text.split(separator: "\n")
        #expect(lines.contains { $0.hasPrefix("日本       1") } && lines.contains { $0.hasPrefix("abcdef     1") })
        #expect(lines.contains { $0.hasPrefix("✅⭐⚡     1") } && lines.contains { $0.hasPrefix("✓          1") })
        let shown = try await cachectl.tool().runOnTerminal(["queue", "keys"], columns: 4)
        #expect(shown.text.split(separator: "\n").contains("日…"))
    }

    private func enqueue(_ key: String) async throws {
        var request = Request("http://127.0.0.1:9/", method: .post)
        request.replay = ReplayPolicy(.durable, orderingKey: key)
        _ = try await cachectl.queue().enqueue(request)
    }
}
