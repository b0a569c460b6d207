import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond
@testable import DiamondInspection

/// Processes of the operating system that use one store.
@Suite("A store that several processes use", .limit(minutes: 10)) struct SeveralProcessesTests {
    let temporary = TemporaryStore()

    /// - Parameter isRemoved: whether the store's file is removed from time to time.
    private func hammer(
        seed: UInt64,
        rounds: Int,
        seconds: Int? = nil,
        isRemoved: Bool = false
    ) throws -> (process: ChildProcess, output: Pipe) {
        let output = Pipe()
        let process = try ChildProcess(
            BuiltTool("StoreHammer").url,
            [temporary.directory.path, "\(seed)", "\(rounds)"] + (isRemoved ? ["removed"] : [])
                + [seconds].compactMap { $0.map(String.init) },
            output: .pipe(output)
        )
        return (process, output)
    }

    private static func text(_ output: Pipe) async -> String { String(decoding: await output.readAll(), as: UTF8.self) }

    private func expectSound() throws {
        let cache = try Cache(temporary.store, memoryCapacity: 0)
        #expect(try temporary.integrity() == "ok")
        for number in 0..<400 {
            let sample = HammerSample(number: number)
            let (key, request) = try sample.identity()
            guard let found = try cache.findOnDisk(key, request: request) else { continue }
            #expect(sample.isSound(found), "entry \(number)")
        }
        for number in 0..<5 { try expectSound(try LargeSample(number: number).entry(version: 0), in: cache) }
        #expect(try CacheInspection(of: temporary.store).findings.isEmpty)
        #expect(try temporary.rows("body WHERE id >> 20 NOT IN (SELECT id FROM entry)") == 0)
        #expect(try temporary.rows("tag WHERE entry NOT IN (SELECT id FROM entry)") == 0)
    }

    /// Each stored variant is one that the server sent, and each part a range of it.
    private func expectSoundVariants() async throws {
        let engine = temporary.engine(StubTransport(status: 504, body: "")) {
            $0.identityPreset = .http
            $0.memoryCapacity = 0
        }
        for number in VariantSample.numbers {
            for kind in VariantSample.kinds {
                let sample = VariantSample(number: number, kind: kind)
                for range in sample.ranges {
                    var request = sample.request(range)
                    request.cache = .cacheOnly
                    let response = try await engine.send(request)
                    #expect(response.status == .gatewayTimeout || sample.isSound(response), "\(sample)")
                }
            }
        }
        await engine.close()
    }

    /// Each stored entry is a version that a process stored, and each partial one the beginning of a version.
    private func expectSound(_ entry: CacheEntry, in cache: Cache) throws {
        if let found = try cache.findOnDisk(entry.key, request: entry.request) {
            #expect(LargeSample.isSound(found.body, found), "\(entry.url)")
        }
        guard let partial = try cache.partial(entry) else { return }
        let tag = partial.stored.headers[.eTag]?.dropFirst().first.flatMap { UInt8(String($0)) }
        let version = try LargeSample(number: 0).entry(version: #require(tag))
        let outline = partial.outline
        let chunks = try outline.checksums.indices.map { try #require(try cache.chunk($0, of: outline)) }
        #expect(version.stored.body.starts(with: Data(chunks.joined())), "\(entry.url)")
    }

    @Test func `a shared store never gives a wrong answer, and no process fails`() async throws {
        let hammers = try (0..<Effort.rounds(3, soaking: 8)).map {
            try hammer(
                seed: Effort.seed &+ UInt64($0), rounds: Effort.rounds(200, soaking: .max),
                seconds: Effort.isSoaking ? 30 : nil)
        }
        for (process, output) in hammers {
            let (ending, text) = (await process.ended(), await Self.text(output))
            #expect(ending == .exited(0), "DIAMOND_SEED=\(Effort.seed): \(text)")
        }
        try expectSound()
        try await expectSoundVariants()
    }

    @Test func `a shared store is intact after processes were killed at any moment, even during eviction`() async throws
    {
        var random = SplitMix(state: Effort.seed)
        // A process may be killed before it creates the directory.
        try FileManager.default.createDirectory(at: temporary.directory, withIntermediateDirectories: true)
        for round in 0..<Effort.rounds(4, soaking: 400) {
            let hammers = try (0..<3).map { try hammer(seed: Effort.seed &+ UInt64(round * 3 + $0), rounds: 1_000_000) }
            for (process, output) in hammers {
                // The delay starts here: on a slow machine, a delay from the launch would end too early.
                #expect(await output.firstLine() == "begun")
                let delay = DispatchTimeInterval.milliseconds(.random(in: 0...250, using: &random))
                process.kill(after: delay)
            }
            for (process, output) in hammers {
                let (ending, text) = (await process.ended(), await Self.text(output))
                #expect(ending == .killed(by: SIGKILL), "DIAMOND_SEED=\(Effort.seed): \(text)")
            }
            // Checked in each round, because a file that was set aside has an intact replacement at the end.
            #expect(temporary.store.setAside.isEmpty, "round \(round), DIAMOND_SEED=\(Effort.seed)")
            #expect(try temporary.integrity() == "ok", "round \(round), DIAMOND_SEED=\(Effort.seed)")
        }
        try expectSound()
        try await expectSoundVariants()
    }

    @Test func `a shared store is refused to a forked child, which does not wait for it`() async throws {
        let process = try ChildProcess(BuiltTool("StoreHammer").url, ["fork", temporary.directory.path])
        #expect(await process.ended() == .exited(0), "the number of the check in ForkedChild")
    }

    @Test func `a shared store stays usable, and no process fails, when its file is removed repeatedly`() async throws {
        var random = SplitMix(state: Effort.seed)
        let hammers = try (0..<4).map {
            try hammer(seed: Effort.seed &+ UInt64($0), rounds: .max, isRemoved: true)
        }
        for _ in 0..<Effort.rounds(100, soaking: 5000) {
            let path = temporary.store.cachePath
            await untilTrue { FileManager.default.fileExists(atPath: path) }
            await remove(path, after: .milliseconds(.random(in: 0..<20, using: &random)))
        }
        for (process, output) in hammers {
            process.kill()
            let (ending, text) = (await process.ended(), await Self.text(output))
            #expect(ending == .killed(by: SIGKILL), "DIAMOND_SEED=\(Effort.seed): \(text)")
        }
        try expectSound()
        try await expectSoundVariants()
    }

    private func remove(_ path: String, after delay: DispatchTimeInterval) async {
        let result = await withCheckedContinuation { continuation in
            DispatchQueue.global().asyncAfter(deadline: .now() + delay) { continuation.resume(returning: unlink(path)) }
        }
        #expect(result == 0)
    }
}
