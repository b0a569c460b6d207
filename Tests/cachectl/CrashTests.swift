import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(10))) struct `A store` {
    let cachectl = Shell()

    @Test func `survives writers that are killed, and never shows a half-written entry`() async throws {
        let base = try await SampleServer.shared.base
        var random = SystemRandomNumberGenerator()
        var killed = 0
        for round in 0..<Effort.rounds(20, soaking: 1000) {
            let process = Process()
            process.executableURL = BuiltTool("cachectl").url
            process.arguments = ["send", "\(base)/wire/bytes/300000", "-p", "seed=\(round % 7)", "--policy", "reload"]
            process.environment = ["DIAMOND_STORE": cachectl.temporary.directory.path]
            (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
            let ended = Gate()
            process.terminationHandler = { _ in ended.open() }
            try process.start()
            let delay = DispatchTimeInterval.milliseconds(.random(in: 0...80, using: &random))
            let identifier = process.processIdentifier
            DispatchQueue.global().asyncAfter(deadline: .now() + delay) { kill(identifier, SIGKILL) }
            await ended.wait()
            if process.terminationReason == .uncaughtSignal { killed += 1 }
        }
        #expect(killed > 0)
        try expectSound()
    }

    @Test func `takes many processes at once, the first ones included`() async throws {
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

    /// Every page and every entry is whole, and each body is the one its URL names.
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

extension TemporaryStore {
    fileprivate func integrity() throws -> String {
        let configuration = SQLiteConfiguration(applicationID: 0x4469_6143, migrations: [""])
        return try SQLiteDatabase(path: store.cachePath, configuration: configuration).read {
            (connection) throws(SQLiteError) in
            let check = try connection.statement("PRAGMA integrity_check")
            return try check.step() ? check.text(0) : ""
        }
    }
}
