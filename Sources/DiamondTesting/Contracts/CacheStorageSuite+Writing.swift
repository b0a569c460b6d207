import Diamond
import Foundation

extension CacheStorageSuite.Check {
    private static let large = Data((0..<300 << 10).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 10) })

    static let storing = [
        Self("a stored record is returned as it was stored, to other processes, too") { run in
            let first = try run.entry("a", tags: ["cities", "home"], identity: "alice")
            let empty = try run.entry("b", body: Data(), lifetime: nil)
            let large = try run.entry("c", body: large)
            try run.expectEqual(try await run.store(first, empty, large), [], "the list of vanished keys")
            try await run.expectStored("a", as: first)
            try await run.expectStored("b", as: empty)
            try await run.expectStored("c", as: large)
            try await run.expectMissing("d")
        },
        Self("a record replaces the one with its key: its body and its names") { run in
            let new = try run.entry("a", body: Data("new".utf8), tags: ["new"])
            try await run.store(try run.entry("a", body: large, age: 1000, tags: ["old"]))
            try run.expectEqual(try await run.store(new), [], "the list of vanished keys")
            try await run.expectStored("a", as: new)
            try run.expectEqual(
                try await run.other.count([.tag("old")], onlyValid: false), 0, "the count of the old name")
            try run.expectEqual(
                try await run.other.count([.tag("new")], onlyValid: false), 1, "the count of the new name")
        },
        Self("a record does not replace a newer one, whose request was sent later") { run in
            let newer = try run.entry("a", body: Data("newer".utf8))
            try await run.store(newer)
            let vanished = try await run.store(try run.entry("a", age: 5000), in: run.other)
            try run.expectEqual(vanished, [newer.key], "the list of vanished keys")
            try await run.expectStored("a", as: newer)
        },
        Self("a key finds its index and its variants, and no other records") { run in
            try await run.store(
                try run.entry("a", flags: .variants), try run.entry("b", of: "a"), try run.entry("c", of: "a"),
                try run.entry("d"))
            let records = try await run.other.records(under: try run.key("a"), bodyLimit: .max)
            let keys = try ["a", "b", "c"].map(run.key)
            try run.expectEqual(Set(records.map(\.key)), Set(keys), "the set of keys")
            try run.expect(records.allSatisfy { $0.requestKey == keys[0] }, "a variant has another request key")
            try run.expectEqual(records.filter(\.isResponse).count, 2, "the number of responses")
            try run.expectEqual(
                try await run.other.records(under: keys[1], bodyLimit: .max).map(\.key), [keys[1]],
                "the list of records under a variant's key")
        },
        Self("a large body is read in pieces, and none of them after it was replaced") { run in
            let entry = try run.entry("a", body: large)
            try await run.store(entry)
            let found = try await run.other.records(under: entry.key, bodyLimit: 1000)
            let record = try run.require(found.first, "the record is missing")
            try run.expectEqual(record.chunks, [], "the list of chunks beyond the limit")
            try run.expectEqual(record.chunkCount, 3, "the number of chunks")
            let chunks = try await run.other.chunks(0..<3, of: record)
            try run.expectEqual(chunks.map { Data($0.joined()) }, large, "the body")
            try run.expectEqual(
                try await run.other.chunks(1..<2, of: record), chunks.map { [$0[1]] }, "the second chunk")
            try run.expect(record.with(chunks: chunks ?? []).isSound, "the record with its chunks is damaged")
            try await run.store(try run.entry("a", body: Data("new".utf8), flags: []))
            try run.expectEqual(try await run.other.chunks(0..<1, of: record), nil, "the chunk of a replaced body")
        },
        Self("a reader beside two writers finds the record of one of them, whole") { run in
            let bodies = [Data("small".utf8), large]
            let entries = try (0..<20).map { try run.entry("a", body: bodies[$0 % 2], age: Int64(-$0)) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, entry) in entries.enumerated() {
                    let storage = number % 2 == 0 ? run.storage : run.other
                    group.addTask { _ = try await storage.write(CacheBatch([.store(CacheRecord(entry))])) }
                    group.addTask {
                        guard let record = try await run.record("a") else { return }
                        try run.expect(record.isSound, "a record is made of two")
                    }
                }
                try await group.waitForAll()
            }
        },
        Self("an erased record is gone, and nothing else") { run in
            let kept = try run.entry("b")
            try await run.store(try run.entry("a"), kept)
            _ = try await run.storage.write(
                CacheBatch([
                    .erase(try run.key("a"), everywhere: false), .erase(try run.key("c"), everywhere: true),
                ]))
            try await run.expectMissing("a", "c")
            try await run.expectStored("b", as: kept)
        },
        Self("the steps of a batch are made in their order") { run in
            let last = try run.entry("a", body: Data("last".utf8))
            _ = try await run.storage.write(
                CacheBatch([
                    .store(CacheRecord(try run.entry("a", age: 1000))), .erase(last.key, everywhere: true),
                    .store(CacheRecord(last)), .store(CacheRecord(try run.entry("b"))),
                    .erase(try run.key("b"), everywhere: true),
                ]))
            try await run.expectStored("a", as: last)
            try await run.expectMissing("b")
        },
    ]

    static let confirming = [
        Self("a confirmation changes the head, and keeps body, names and variants") { run in
            let old = try run.entry("a", body: large, age: 5000, tags: ["old"])
            try await run.store(old)
            var confirmed = try run.entry("a", body: large, lifetime: 90_000, tags: ["old", "new"])
            let step = CacheStep.confirm(CacheConfirmation(confirmed, of: old.stored))
            try run.expectEqual(
                try await run.storage.write(CacheBatch([step])).vanished, [], "the list of vanished keys")
            try await run.expectStored("a", as: confirmed)
            confirmed.tags = ["third"]
            let again = CacheStep.confirm(CacheConfirmation(confirmed, of: confirmed.stored))
            _ = try await run.storage.write(CacheBatch([again]))
            confirmed.tags = ["old", "new", "third"]
            try await run.expectStored("a", as: confirmed)
        },
        Self("a confirmation of a stale record ends its staleness") { run in
            var old = try run.entry("a", age: 5000)
            try await run.store(old)
            _ = try await run.storage.invalidate([.key(old.key)], announcing: ChangedNames(old.key))
            old.stored.flags.insert(.invalidated)
            let confirmed = try run.entry("a")
            let step = CacheStep.confirm(CacheConfirmation(confirmed, of: old.stored))
            try run.expectEqual(
                try await run.storage.write(CacheBatch([step])).vanished, [], "the list of vanished keys")
            try await run.expectStored("a", as: confirmed)
        },
        Self("a confirmation changes nothing if the record was replaced, erased or marked stale") { run in
            let old = try run.entry("a", age: 5000)
            let confirmed = try run.entry("a", age: 1)
            let batch = CacheBatch([.confirm(CacheConfirmation(confirmed, of: old.stored))])
            try run.expectEqual(try await run.storage.write(batch).vanished, [old.key], "the list without a record")
            try await run.expectMissing("a")
            try await run.store(old)
            _ = try await run.other.invalidate([.key(old.key)], announcing: ChangedNames(old.key))
            try run.expectEqual(try await run.storage.write(batch).vanished, [old.key], "the list of a stale record")
            try await run.expectStored("a", as: old, isStale: true)
            let newer = try run.entry("a", body: Data("newer".utf8))
            try await run.store(newer, in: run.other)
            try run.expectEqual(try await run.storage.write(batch).vanished, [old.key], "the list of a replaced record")
            try await run.expectStored("a", as: newer)
        },
    ]
}
