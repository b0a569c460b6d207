import DiamondTestSupport
import Foundation
import Testing

@Suite("cachectl simulate", .limit(minutes: 5)) struct SimulateTests {
    let cachectl = Shell()

    private func fill() async throws {
        let base = try await SampleServer.shared.base
        // A store that exists, but records nothing yet.
        _ = try await cachectl("send", base + "/wire/bytes/1", "--max-age", "60")
        #expect(try await cachectl("simulate", "--record").text == "the store now records accesses\n")
        let url = base + "/wire/bytes/5000"
        for _ in 0..<2 { _ = try await cachectl("send", url, "--max-age", "60") }
    }

    @Test func `simulates other sizes with the accesses that the store has recorded`() async throws {
        try await fill()
        let outcome = try await cachectl("simulate", "--sizes", "64MiB,1GB")
        #expect(outcome.status == 0, "\(outcome.errors)")
        let lines = outcome.text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        #expect(
            lines.prefix(7) == [
                "    SIZE       REQUESTS MISSED  BYTES MISSED  LRU MISSED   BYTES",
                "  64 MiB                50.0 %        50.0 %      50.0 %  50.0 %",
                " 256 MiB  now           50.0 %        50.0 %      50.0 %  50.0 %",
                " 953 MiB                50.0 %        50.0 %      50.0 %  50.0 %",
                "no bound                50.0 %        50.0 %      50.0 %  50.0 %",
                "",
                "64 MiB is enough: it would have missed no more.",
            ], "\(outcome.text)")
        #expect(lines[7].hasPrefix("Recorded: 2 requests, 9.8 KiB, within "))
        #expect(lines[7].hasSuffix("s, of every key."))
        #expect(lines.allSatisfy { $0.count < 80 })
    }

    @Test func `prints JSON with --json`() async throws {
        try await fill()
        let outcome = try await cachectl("simulate", "--json")
        let figures = try #require(JSONSerialization.jsonObject(with: outcome.output) as? [String: Any])
        #expect(figures["requests"] as? Int == 2)
        #expect(figures["bytes"] as? Int == 10_000)
        #expect(figures["sampled"] as? Double == 1)
        #expect(figures["present"] as? Int == 256 << 20)
        #expect(figures["recommended"] as? Int == 32 << 20)
        let sizes = try #require(figures["sizes"] as? [[String: Any]])
        #expect(sizes.map { $0["size"] as? Int } == [32, 64, 128, 256, 512, 1024, 2048].map { $0 << 20 })
        #expect(sizes.allSatisfy { $0["bytesMissed"] as? Double == 0.5 })
        #expect((figures["unbounded"] as? [String: Double])?["requestsMissed"] == 0.5)
    }

    @Test func `says how to switch on recording if the store records nothing`() async throws {
        let url = try await SampleServer.shared.base + "/wire/bytes/5000"
        for _ in 0..<2 { _ = try await cachectl("send", url, "--max-age", "60") }
        let off = try await cachectl("simulate")
        #expect(off.status == 1)
        #expect(
            off.errors.hasPrefix(
                "cachectl: the store records nothing: switch that on with 'cachectl simulate --record'"))
        try await fill()
        #expect(
            try await cachectl.object("simulate", "--no-record") as? [String: Bool] == ["recording": false])
        #expect(try await cachectl("simulate").errors == off.errors)
    }

    @Test func `exits with 1 for an empty record, with 4 without a store, with 64 for an invalid size`() async throws {
        #expect(try await cachectl("simulate").status == 4)
        try await fill()
        #expect(try await cachectl("purge", "--all").status == 0)
        let empty = try await cachectl("simulate")
        #expect(empty.status == 1)
        #expect(empty.errors.hasPrefix("cachectl: nothing has been recorded yet: "))
        for sizes in ["", "64MB,", "0", "much", "-1"] {
            #expect(try await cachectl("simulate", "--sizes=\(sizes)").status == 64, "\(sizes)")
        }
    }
}
