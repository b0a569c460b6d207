import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("A store", .limit(minutes: 10)) struct CrashTests {
    let cachectl = Shell()

    @Test func `survives writers that are killed, and never shows a half-written entry`() async throws {
        let base = try await SampleServer.shared.base
        var random = SystemRandomNumberGenerator()
        var killed = 0
        for round in 0..<Effort.rounds(20, soaking: 1000) {
            let process = try ChildProcess(
                BuiltTool("cachectl").url,
                ["send", "\(base)/wire/bytes/300000", "-p", "seed=\(round % 7)", "--policy", "reload"],
                environment: ["DIAMOND_STORE": cachectl.temporary.directory.path],
                output: .null,
                errors: .null
            )
            // The first process is killed at once, so that at least one is killed.
            let delay = round == 0 ? 0 : Int.random(in: 0...80, using: &random)
            process.kill(after: .milliseconds(delay))
            if await process.ended() == .killed(by: SIGKILL) { killed += 1 }
            try expectWhole(round)
        }
        #expect(killed > 0)
        try expectSound()
    }

    @Test func `can be created and written by many processes at once`() async throws {
        let base = try await SampleServer.shared.base
        try await withThrowingTaskGroup(of: BuiltTool.Outcome.self) { group in
            for seed in 0..<8 {
                group.addTask { try await cachectl("send", "\(base)/wire/bytes/1000", "-p", "seed=\(seed)") }
            }
            for try await outcome in group {
                #expect(outcome.status == 0)
                #expect(!outcome.errors.contains("cache:"), "\(outcome.errors)")
            }
        }
        #expect(try Cache(cachectl.temporary.store).totals().entries == 8)
        try expectSound()
    }

    /// Called in each round, because a file that was set aside is created again, and is sound at the end.
    private func expectWhole(_ round: Int) throws {
        let store = cachectl.temporary.store
        #expect(store.setAside.isEmpty, "round \(round)")
        guard FileManager.default.fileExists(atPath: store.cachePath) else { return }
        #expect(try cachectl.temporary.integrity() == "ok", "round \(round)")
    }

    /// Checks that every page and every entry is sound, and that each body is that of its URL.
    private func expectSound() throws {
        guard FileManager.default.fileExists(atPath: cachectl.temporary.store.cachePath) else { return }
        let cache = try Cache(cachectl.temporary.store, memoryCapacity: 0)
        #expect(try cachectl.temporary.integrity() == "ok")
        for listing in try cache.list(limit: 1000) {
            let form = try #require(try cache.canonicalForm(of: listing.key))
            let stored = try #require(try cache.findOnDisk(listing.key, request: Array(form.utf8)))
            let seed = try #require(listing.url.split(separator: "seed=").last.flatMap { Int($0) })
            #expect(stored.body == Data((0..<stored.body.count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ seed) }))
        }
    }
}
