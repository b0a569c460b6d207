import Diamond
import Foundation

extension CacheStorageSuite.Check {
    /// A selection of the records in a store with five.
    private struct Case: Sendable {
        let name: String
        let selection: CacheSelection
        let selected: [String]
    }

    /// Stores five records, and returns selections of them.
    private static func cases(in run: CacheStorageRun) async throws -> [Case] {
        var elsewhere = try run.entry("e", flags: [])
        elsewhere.url = "https://www.test/e"
        try await run.store(
            try run.entry("a", age: 9000, tags: ["cities", "home"]),
            try run.entry("b", tags: ["cities"], identity: "alice"),
            try run.entry("c", lifetime: 1000, flags: [], identity: "bob"),
            try run.entry("d", age: 7000, lifetime: nil),
            elsewhere)
        return [
            Case(name: "all", selection: .all, selected: ["a", "b", "c", "d", "e"]),
            Case(name: "a key", selection: .key(try run.key("b")), selected: ["b"]),
            Case(name: "a tag", selection: .tag("cities"), selected: ["a", "b"]),
            Case(name: "another case of a tag", selection: .tag("Cities"), selected: []),
            Case(name: "an identity", selection: .identity("alice"), selected: ["b"]),
            Case(name: "a URL", selection: .url("https://api.test/c"), selected: ["c"]),
            Case(
                name: "the beginning of a URL", selection: .url(prefix: "https://api.test/"),
                selected: ["a", "b", "c", "d"]),
            Case(name: "a host", selection: .host("www.test"), selected: ["e"]),
            Case(name: "a time", selection: .stored(before: run.now - 8000), selected: ["a"]),
            Case(name: "expiry", selection: .expired(at: run.now + 2000), selected: ["c"]),
        ]
    }

    private static let names = ["a", "b", "c", "d", "e"]

    static let selecting = [
        Self("each selection counts its records") { run in
            for one in try await cases(in: run) {
                try run.expectEqual(
                    try await run.other.count([one.selection], onlyValid: false), one.selected.count,
                    "the count by \(one.name)")
            }
        },
        Self("an invalidation marks the selected records that are not marked yet, once") { run in
            for one in try await cases(in: run) where one.name != "all" {
                let unmarked = try await run.storage.count([one.selection], onlyValid: true)
                let before = try await run.stale(among: names)
                let count = try await run.storage.invalidate([one.selection], announcing: nil)
                if count.isComplete {
                    try run.expectEqual(count.records, unmarked, "the number marked by \(one.name)")
                }
                let marked = Set(before).union(one.selected).sorted()
                try run.expectEqual(try await run.stale(among: names), marked, "the list marked by \(one.name)")
                try run.expectEqual(
                    try await run.other.count([one.selection], onlyValid: true), 0, "the valid rest by \(one.name)")
            }
            let rest = try await run.storage.invalidate([.all], announcing: nil)
            try run.expectEqual(rest.records, 0, "the number of unmarked records in the end")
        },
        Self("a record that is stored after an invalidation is not stale") { run in
            try await run.store(try run.entry("a", age: 1000, tags: ["cities"]))
            _ = try await run.storage.invalidate([.tag("cities")], announcing: nil)
            let new = try run.entry("a", tags: ["cities"])
            try await run.store(new)
            try await run.expectStored("a", as: new)
        },
        Self("an erasure removes the selected records, for good") { run in
            for one in try await cases(in: run).reversed() {
                let rest = try await run.other.count([.all], onlyValid: false)
                let own = try await run.other.count([one.selection], onlyValid: false)
                let count = try await run.storage.erase([one.selection], announcing: nil)
                try run.expectEqual(count.records, own, "the number erased by \(one.name)")
                try run.expectEqual(try await run.other.count([.all], onlyValid: false), rest - own, "the rest")
                for name in one.selected { try await run.expectMissing(name) }
            }
            try run.expectEqual(try await run.other.totals().entries, 0, "the total")
        },
        Self("a pinned record stays pinned when it is replaced, and is not expired") { run in
            try await run.store(try run.entry("a", age: 1000, lifetime: 1, flags: []))
            // A storage need not keep pins.
            guard try await run.storage.setPinned(true, for: try run.key("a")) else { return }
            try await run.store(try run.entry("a", lifetime: 1, flags: []))
            try run.expectEqual(try await run.record("a")?.isPinned, true, "the pin")
            try run.expectEqual(
                try await run.other.count([.expired(at: run.now + 9000)], onlyValid: false), 0,
                "the count of expired ones")
        },
    ]

    static let listing = [
        Self("a list has each record once, in its order, also in pages of one") { run in
            for (number, name) in names.enumerated() {
                let body = Data(repeating: 1, count: [30, 10, 50, 20, 40][number])
                try await run.store(try run.entry(name, body: body, age: [2000, 1000, 5000, 3000, 3000][number]))
            }
            let orders: [(CacheOrder, [[String]])] = [
                (.newest, [["b"], ["a"], ["d", "e"], ["c"]]), (.largest, [["c"], ["e"], ["a"], ["d"], ["b"]]),
                (.url, [["a"], ["b"], ["c"], ["d"], ["e"]]),
            ]
            for (order, expected) in orders {
                var found: [String] = []
                var cursor: CacheCursor?
                while let last = try await run.other.list([], by: order, after: cursor, limit: 1).first {
                    found.append(String(last.url.suffix(1)))
                    try run.expect(found.count <= names.count, "the list by \(order) has no end")
                    try run.expectEqual(last.chunks, [], "the list of chunks in a list")
                    cursor = CacheCursor(after: last, by: order)
                }
                var rest = found[...]
                for group in expected {
                    try run.expectEqual(Set(rest.prefix(group.count)), Set(group), "the next of the list by \(order)")
                    rest = rest.dropFirst(group.count)
                }
                let all = try await run.other.list([], by: order, after: nil, limit: 100)
                try run.expectEqual(all.map { String($0.url.suffix(1)) }, found, "the list in one page by \(order)")
            }
        },
        Self("a list selects the records that are in each group") { run in
            _ = try await cases(in: run)
            let groups: [[CacheSelection]] = [
                [.tag("cities"), .identity("bob")], [.identity("alice"), .identity("bob")],
            ]
            let found = try await run.other.list(groups, by: .url, after: nil, limit: 10)
            try run.expectEqual(found.map { String($0.url.suffix(1)) }, ["b", "c"], "the list")
        },
        Self("the totals count responses and the bytes of their bodies") { run in
            try await run.store(
                try run.entry("a", body: Data(count: 100)), try run.entry("b", body: Data(count: 50)),
                try run.entry("c", body: Data(), flags: .variants))
            let totals = try await run.other.totals()
            try run.expectEqual(totals.entries, 2, "the number of responses")
            try run.expectEqual(totals.bodyBytes, 150, "the number of bytes")
        },
    ]

    static let announcing = [
        Self("replaced, confirmed and erased records are announced to processes that have read their keys") { run in
            let old = try run.entry("a", age: 1000)
            try await run.store(old, try run.entry("b"))
            let steps: [(String, CacheStep)] = [
                ("a confirmation", .confirm(CacheConfirmation(try run.entry("a", age: 500), of: old.stored))),
                ("a replacement", .store(CacheRecord(try run.entry("a")))),
                ("an erasure", .erase(old.key, everywhere: false)),
                ("an erasure of no record", .erase(old.key, everywhere: true)),
            ]
            for (name, step) in steps {
                _ = try await run.record("a")
                let position = try run.other.changes(since: nil).position
                _ = try await run.storage.write(CacheBatch([step]))
                let names = try await run.announced(since: position)
                try run.expect(names.map { $0.keys.contains(old.key.prefix) } ?? true, "\(name) is not announced")
            }
        },
        Self("invalidations and erasures announce their names, also if nothing is selected") { run in
            let key = try run.key("a")
            for isErasure in [false, true] {
                for names in [ChangedNames(key), ChangedNames(urls: [42])] {
                    let position = try run.other.changes(since: nil).position
                    if isErasure {
                        _ = try await run.storage.erase([.tag("none")], announcing: names)
                    } else {
                        _ = try await run.storage.invalidate([.tag("none")], announcing: names)
                    }
                    let found = try await run.announced(since: position)
                    try run.expect(
                        found.map { $0.keys.isSuperset(of: names.keys) && $0.urls.isSuperset(of: names.urls) } ?? true,
                        "the names of an \(isErasure ? "erasure" : "invalidation") are not announced")
                }
                let position = try run.other.changes(since: nil).position
                _ = try await run.storage.invalidate([], announcing: nil)
                try run.expect(try await run.announced(since: position) == nil, "'anything' is not announced")
            }
        },
        Self("names are the same after they were bytes") { run in
            let names = ChangedNames(keys: [1, -2, .max], urls: [.min, 7])
            try run.expectEqual(ChangedNames(names.data), names, "the set of names")
            try run.expectEqual(ChangedNames(Data([1, 2, 3])), nil, "the set of names in other bytes")
        },
        Self("a response is stored stale if another process has announced its URL since it was requested") { run in
            var entry = try run.entry("a")
            entry.knownChange = try run.storage.changes(since: nil).position
            let names = ChangedNames(urls: [CacheRecord(entry).urlHash])
            _ = try await run.other.invalidate([.url(entry.url)], announcing: names)
            _ = try await run.announced(since: entry.knownChange ?? .start)
            try run.expectEqual(try await run.store(entry), [entry.key], "the list of vanished keys")
            try await run.expectStored("a", as: entry, isStale: true)

            var later = try run.entry("b")
            later.knownChange = try run.storage.changes(since: nil).position
            try run.expectEqual(try await run.store(later), [], "the list of vanished keys of a later request")
            try await run.expectStored("b", as: later)

            var own = try run.entry("c")
            own.knownChange = try run.storage.changes(since: nil).position
            _ = try await run.storage.invalidate(
                [.url(own.url)], announcing: ChangedNames(urls: [CacheRecord(own).urlHash]))
            try run.expectEqual(try await run.store(own), [], "the list of vanished keys after an own change")
            try await run.expectStored("c", as: own)
        },
    ]
}
