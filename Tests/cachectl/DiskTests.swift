import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

@Suite(
    "A store on a disk", .enabled(if: SmallDisk.isPossible, "mounting a small disk needs Linux and root"),
    .limit(minutes: 5))
struct DiskTests {
    private func withDisk(_ test: (SmallDisk, BuiltTool, String) async throws -> Void) async throws {
        let disk = try await SmallDisk()
        var tool = BuiltTool("cachectl")
        tool.environment = ["DIAMOND_STORE": disk.directory.appending(path: "store").path]
        do {
            try await test(disk, tool, SampleServer.shared.base)
        } catch {
            try await disk.remove()
            throw error
        }
        try await disk.remove()
    }

    @Test func `keeps complete entries when the disk becomes full, and requests succeed`() async throws {
        try await withDisk { disk, cachectl, base in
            var complaints = 0
            for seed in 0..<8 {
                let sent = try await cachectl.run(["send", "\(base)/wire/bytes/60000", "-p", "seed=\(seed)"])
                #expect(sent.status == 0)
                #expect(sent.output.count == 60000)
                if sent.errors.contains("not cached") {
                    complaints += 1
                    #expect(sent.errors.contains("free space on the disk"), "\(sent.errors)")
                }
            }
            #expect(complaints > 0)
            let cache = try Cache(Store(directory: disk.directory.appending(path: "store")), memoryCapacity: 0)
            let entries = try cache.list(limit: 10)
            #expect(!entries.isEmpty && entries.count < 8)
            for entry in entries {
                let form = try #require(try cache.canonicalForm(of: entry.key))
                #expect(try cache.findOnDisk(entry.key, request: Array(form.utf8))?.body.count == 60000)
            }
        }
    }

    @Test func `does not make requests fail when the disk is full from the start`() async throws {
        try await withDisk { disk, cachectl, base in
            try? Data(count: 384 << 10).write(to: disk.directory.appending(path: "filler"))
            let sent = try await cachectl.run(["send", "\(base)/wire/bytes/1000"])
            #expect(sent.status == 0)
            #expect(sent.errors.contains("without a cache") && sent.errors.contains("space"), "\(sent.errors)")
        }
    }

    @Test func `serves its entries when the disk is read-only, and names the remedy when it cannot store a response`()
        async throws
    {
        try await withDisk { disk, cachectl, base in
            _ = try await cachectl.run(["send", "\(base)/wire/bytes/1000"])
            try await disk.makeReadOnly()
            let hit = try await cachectl.run(["send", "\(base)/wire/bytes/1000"])
            #expect(hit.errors.contains("from cache"), "\(hit.errors)")
            let other = try await cachectl.run(["send", "\(base)/wire/bytes/1000", "-p", "seed=1"])
            #expect(other.status == 0)
            let remedy = "store/cache.sqlite: attempt to write a readonly database (SQLite 8): make the file"
            #expect(other.errors.contains("not cached: ") && other.errors.contains(remedy), "\(other.errors)")
            let purge = try await cachectl.run(["purge", "--all"])
            #expect(purge.status == 4)
            #expect(purge.errors.contains(remedy), "\(purge.errors)")
        }
    }
}
