import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond
@testable import DiamondInspection

@Suite("Bodies in pieces on a failing disk", .limit(minutes: 10)) struct BodyFaultTests {
    /// A body that is replaced in pieces, interrupted, resumed and read, on a disk of its own.
    private struct BodyScenario {
        let temporary = TemporaryStore()
        let disk: FaultDisk
        private(set) var record = FaultRecord()
        /// The number of reads whose bytes are not the beginning of a stored version.
        private(set) var wrongReads = 0
        private(set) var finished = 0

        init() { disk = FaultDisk(directory: temporary.directory) }

        mutating func run() async throws {
            try await use()
            await disk.closed()
        }

        private mutating func use() async throws {
            var store = temporary.store
            store.vfs = disk.vfs
            guard let cache = try? Cache(store, memoryCapacity: 0) else { return }
            await write(try FaultEntries.entry(1, size: 1_500_000), in: cache)
            await write(try FaultEntries.entry(1, size: 1_300_000, version: 2), in: cache)
            read(cache)
            await breakOff(try FaultEntries.entry(1, size: 1_400_000, version: 3), in: cache)
            read(cache)
            record.check(cache, "used")
        }

        private mutating func write(_ entry: CacheEntry, in cache: Cache) async {
            record.note(entry)
            guard let writer = try? cache.bodyWriter(for: entry) else { return }
            guard (try? await writer.append(entry.stored.body)) != nil else { return }
            if (try? await writer.finish()) != nil { finished += 1 }
        }

        private mutating func breakOff(_ entry: CacheEntry, in cache: Cache) async {
            record.note(entry)
            guard let first = try? cache.bodyWriter(for: entry) else { return }
            try? await first.append(entry.stored.body.prefix(1_200_000))
            try? await first.abandon(keepingPartial: true)
            guard let partial = try? cache.partialBody(entry.key, request: entry.request),
                let second = try? cache.bodyWriter(for: entry, continuing: partial)
            else { return }
            guard (try? await second.append(entry.stored.body.dropFirst(partial.size))) != nil else { return }
            if (try? await second.finish()) != nil { finished += 1 }
        }

        private mutating func read(_ cache: Cache) {
            guard let versions = record.versions.values.first, let entry = versions.first,
                var reader = try? cache.bodyReader(entry.key, request: entry.request)
            else { return }
            var body = Data()
            while let chunk = try? reader.next() { body += chunk }
            if !versions.contains(where: { $0.stored.body.starts(with: body) }) { wrongReads += 1 }
        }
    }

    private func calls(_ fault: FaultDisk.Fault, oneIn few: Int) async throws -> StrideThrough<Int> {
        var life = BodyScenario()
        try await life.run()
        #expect(life.finished == 3)
        return Effort.places(to: life.disk.calls(fitting: fault), oneIn: few)
    }

    /// After the fault, a stored body is a version that was stored, or missing. A partial body can be resumed byte
    /// for byte.
    private func checkAfterwards(_ life: BodyScenario, _ place: String) async throws {
        var record = life.record
        #expect(life.wrongReads == 0, "\(place)")
        // The store's secret may not be on the disk yet.
        let findings = try CacheInspection(of: life.temporary.store).findings.filter { $0.kind != .secret }
        #expect(findings == [], "\(place)")
        let cache = try Cache(life.temporary.store, memoryCapacity: 0)
        record.check(cache, "\(place), opened again")
        try await goOn(in: cache, record, place)
        record.check(cache, "\(place), continued")
        #expect(record.wrongBodies.isEmpty && record.wrongHeads.isEmpty, "\(place)")
        #expect(try life.temporary.rows("body WHERE id >> 20 NOT IN (SELECT id FROM entry)") == 0, "\(place)")
    }

    private func goOn(in cache: Cache, _ record: FaultRecord, _ place: String) async throws {
        guard let versions = record.versions.values.first, let partial = try cache.partial(versions[0]) else { return }
        // Its validator identifies its version.
        let entry = try #require(versions.first { $0.stored.headerBlock == partial.stored.headerBlock })
        let writer = try cache.bodyWriter(for: entry, continuing: partial)
        try await writer.append(entry.stored.body.dropFirst(partial.size))
        try await writer.finish()
        #expect(try cache.found(entry) == entry.stored.body, "\(place)")
    }

    @Test(arguments: FaultDisk.Fault.survivable, [false, true])
    func `bodies in pieces are never wrong after a fault, and can be resumed`(fault: FaultDisk.Fault, lasting: Bool)
        async throws
    {
        for call in try await calls(fault, oneIn: 540) {
            var life = BodyScenario()
            life.disk.fail(fault, atCall: call, lasting: lasting)
            try await life.run()
            try await checkAfterwards(life, "\(fault) at \(call), DIAMOND_SEED=\(Effort.seed)")
        }
    }

    @Test(arguments: [false, true]) func `bodies in pieces are never wrong after a power failure`(keepsSome: Bool)
        async throws
    {
        for call in try await calls(.powerLoss, oneIn: 540) {
            var life = BodyScenario()
            life.disk.fail(.powerLoss, atCall: call)
            try await life.run()
            try life.disk.cutPower(seed: keepsSome ? Effort.seed &+ UInt64(call) : nil)
            try await checkAfterwards(life, "\(call), DIAMOND_SEED=\(Effort.seed)")
        }
    }
}
