import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("A damaged store") struct CacheDamageTests {
    enum Damage: CaseIterable { case flip, cut }

    /// The files of a store, and a record of its entries.
    private struct Original {
        var files: [(name: String, bytes: Data)]
        var record: FaultRecord
    }

    /// A store with all entries in its file, or the newer half in the log.
    private func original(hasLog: Bool) async throws -> Original {
        let temporary = TemporaryStore()
        var record = FaultRecord()
        let sizes = [150_000, 0, 10, 900, 5000, 20_000]
        for (number, size) in (sizes + sizes.dropFirst()).enumerated() {
            if number == sizes.count { try temporary.moveLogIntoFile() }
            let cache = try Cache(temporary.store, memoryCapacity: 0)
            let entry = try FaultEntries.entry(number, size: size)
            cache.store(entry)
            record.note(entry)
            await cache.flush()
        }
        if !hasLog { try temporary.moveLogIntoFile() }
        let files = try (hasLog ? ["cache.sqlite", "cache.sqlite-wal"] : ["cache.sqlite"]).map {
            (name: $0, bytes: try Data(contentsOf: temporary.directory.appending(path: $0)))
        }
        return Original(files: files, record: record)
    }

    @Test(arguments: [false, true], Damage.allCases)
    func `never answers with a wrong response`(hasLog: Bool, damage: Damage) async throws {
        let original = try await original(hasLog: hasLog)
        var random = SplitMix(state: Effort.seed)
        var record = original.record
        for round in 0..<Effort.rounds(50, soaking: 250) {
            var files = original.files
            let file = random.below(files.count)
            let place = self.damage(&files[file].bytes, damage, &random)
            try await open(files, &record, "round \(round), \(files[file].name), \(place), seed \(Effort.seed)")
        }
        #expect(record.wrongBodies.isEmpty)
        #expect(record.wrongHeads.isEmpty)
    }

    @Test func `does not answer with an entry whose headers have a changed bit`() async throws {
        let original = try await original(hasLog: false)
        var (files, record) = (original.files, original.record)
        let place = try #require(files[0].bytes.firstRange(of: Data("ETag: \"7-1".utf8)))
        files[0].bytes[place.upperBound - 1] ^= 2
        try await open(files, &record, "the headers of 7")
        #expect(record.wrongBodies.isEmpty)
        #expect(record.wrongHeads.isEmpty)
    }

    /// Half of the damaged places are near the beginning of a page, where the file's structure is.
    private func damage(_ bytes: inout Data, _ damage: Damage, _ random: inout SplitMix) -> Int {
        let anywhere = random.below(bytes.count)
        let place = random.below(2) == 0 ? anywhere : anywhere / 8192 * 8192 + random.below(64)
        switch damage {
        case .flip: bytes[min(place, bytes.count - 1)] ^= 1 << UInt8(random.below(8))
        case .cut: bytes = bytes.prefix(place)
        }
        return place
    }

    /// Uses a store of these files, as far as it can be opened.
    private func open(
        _ files: [(name: String, bytes: Data)],
        _ record: inout FaultRecord,
        _ place: @autoclosure () -> String
    ) async throws {
        let temporary = TemporaryStore()
        try FileManager.default.createDirectory(at: temporary.directory, withIntermediateDirectories: true)
        for file in files { try file.bytes.write(to: temporary.directory.appending(path: file.name)) }
        do throws(CacheError) {
            let cache = try Cache(temporary.store, memoryCapacity: 0)
            record.check(cache, place())
            // Damaged entries are deleted, which writes into a damaged file.
            await cache.flush()
            record.check(cache, place())
        } catch {
            // The remedy of an error depends on its code, and `other` has none.
            #expect(error.code != .other, "\(place()): \(error)")
        }
    }
}

extension TemporaryStore {
    func moveLogIntoFile() throws {
        let configuration = SQLiteConfiguration.ofCacheFile
        try SQLiteDatabase(path: store.cachePath, configuration: configuration).emptyLog()
    }
}
