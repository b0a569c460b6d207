import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("The memory tier") struct MemoryTierTests {
    private func entry(_ name: String, size: Int = 0) throws -> CacheEntry {
        let form = try CanonicalForm(of: Request("http://h/\(name)"), rules: KeyRules())
        var stored = StoredResponse.stub(lifetime: nil, headers: "")
        stored.body = Data(count: size)
        return CacheEntry(key: form.key, request: form.bytes, url: "", method: "GET", stored: stored)
    }

    private func store(_ entry: CacheEntry, in tier: MemoryTier) {
        tier.store(entry.stored, under: entry.key, request: entry.request)
    }

    /// The cost of a single entry in a tier.
    private func cost(_ entry: CacheEntry) -> Int {
        let tier = MemoryTier(capacity: .max)
        store(entry, in: tier)
        return tier.cost
    }

    private func has(_ tier: MemoryTier, _ entry: CacheEntry) -> Bool {
        found(tier, entry) != nil
    }

    private func found(_ tier: MemoryTier, _ entry: CacheEntry) -> StoredResponse? {
        guard case .hit(let stored, _) = tier.find(entry.key, request: entry.request) else { return nil }
        return stored
    }

    private func miss(_ tier: MemoryTier, _ entry: CacheEntry) throws -> Int {
        guard case .miss(let changes) = tier.find(entry.key, request: entry.request) else {
            throw Failure.hit
        }
        return changes
    }

    private enum Failure: Error { case hit }

    @Test func `evicts the excess as soon as its limit is lowered`() throws {
        let tier = MemoryTier(capacity: 1 << 20)
        for index in 0..<100 { store(try entry("\(index)", size: 1000), in: tier) }
        #expect(tier.cost > 100_000)
        tier.capacity = 50_000
        #expect(tier.cost <= 50_000)
        tier.shrink(to: 20_000)
        #expect(tier.cost <= 20_000)
        #expect(tier.capacity == 50_000)
    }

    @Test func `stays within its limit after any operation`() throws {
        let tier = MemoryTier(capacity: 100_000)
        var generator = SplitMix(state: Effort.seed)
        var kept: [CacheEntry] = []
        for index in 0..<Effort.rounds(2000, soaking: 200_000) {
            let entry = try entry("\(index % 300)", size: Int(generator.next() % 5000))
            store(entry, in: tier)
            kept.append(entry)
            if generator.next() % 3 == 0, let used = kept.randomElement(using: &generator) { _ = has(tier, used) }
            if generator.next() % 7 == 0 { tier.remove(entry.key) }
            #expect(tier.cost <= 100_000, "DIAMOND_SEED=\(Effort.seed)")
        }
        tier.removeAll()
        #expect(tier.cost == 0)
    }

    @Test func `a peek in a memory tier is not a use`() throws {
        let tier = MemoryTier(capacity: 1 << 20)
        let entry = try entry("a")
        store(entry, in: tier)
        #expect(tier.peek(entry.key, request: entry.request) == entry.stored)
        guard case .hit(_, isFirst: true) = tier.find(entry.key, request: entry.request) else {
            return #expect(Bool(false), "it counts as used")
        }
    }

    @Test func `does not store an entry that would fill it alone`() throws {
        let tier = MemoryTier(capacity: 64_000)
        let big = try entry("big", size: 5000)
        store(big, in: tier)
        #expect(!has(tier, big))
    }

    @Test func `replaces an entry without counting it twice`() throws {
        let tier = MemoryTier(capacity: 100_000)
        for _ in 0..<10 { store(try entry("a", size: 100), in: tier) }
        #expect(tier.cost == cost(try entry("a", size: 100)))
    }

    @Test func `does not store an entry read from disk that may be outdated`() throws {
        let tier = MemoryTier(capacity: 1 << 20)
        let (old, new) = (try entry("a", size: 1), try entry("a", size: 2))
        for change in [{ store(new, in: tier) }, { tier.remove(old.key) }, { tier.removeAll() }] {
            tier.remove(old.key)
            let changes = try miss(tier, old)
            change()
            tier.storeIfUnchanged(old.stored, under: old.key, request: old.request, since: changes)
            #expect(found(tier, old)?.body.count != 1)
        }
        tier.storeIfUnchanged(old.stored, under: old.key, request: old.request, since: try miss(tier, old))
        #expect(has(tier, old))
    }

    @Test(arguments: [("one", [true, false]), ("other", [false, false])])
    func `also removes an entry by the URL of its confirmation`(url: String, isLeft: [Bool])
        throws
    {
        let tier = MemoryTier(capacity: 1 << 20)
        let entry = try entry("a")
        tier.store(entry.stored, under: entry.key, request: entry.request, url: "one")
        #expect(
            tier.confirm(entry.stored, replacing: entry.stored, under: entry.key, request: entry.request, url: url))
        let left = ["third", "one"].map { name in
            tier.remove(named: ChangedNames(urls: [Int64(name.count)]), by: { Int64($0.count) })
            return has(tier, entry)
        }
        #expect(left == isLeft)
    }

    @Test func `requests the hash of a URL once, and none for a removal by URLs`() throws {
        let tier = MemoryTier(capacity: 1 << 20)
        let entries = try ["unknown", "one", "other"].map { try entry($0) }
        for (entry, url) in zip(entries, [nil, "one", "other"] as [String?]) {
            tier.store(entry.stored, under: entry.key, request: entry.request, url: url)
        }
        var asked: [String] = []
        for _ in 0..<3 {
            tier.remove(named: ChangedNames(urls: [9])) { url in
                asked.append(url)
                return Int64(url.count)
            }
        }
        #expect(asked.sorted() == ["one", "other"])
        #expect(entries.map { has(tier, $0) } == [false, true, true])
        tier.store(entries[0].stored, under: entries[0].key, request: entries[0].request)
        tier.remove(urls: ["other", "third"])
        #expect(entries.map { has(tier, $0) } == [false, true, false])
    }

    @Test func `removes exactly the named keys, and every entry that may have a named URL`() throws {
        let tier = MemoryTier(capacity: 1 << 20)
        let entries = try ["unknown", "one", "other"].map { try entry($0) }
        for (entry, url) in zip(entries, [nil, "one", "other"] as [String?]) {
            tier.store(entry.stored, under: entry.key, request: entry.request, url: url)
        }
        let left = { entries.map { self.has(tier, $0) } }
        let number: (String) -> Int64 = { Int64($0.count) }
        // An absent key removes no entry, even if its number is also the hash of a URL.
        tier.remove(named: ChangedNames(keys: [3, 5, try entry("absent").key.prefix]), by: number)
        #expect(left() == [true, true, true])
        tier.remove(named: ChangedNames(keys: [entries[2].key.prefix]), by: number)
        #expect(left() == [true, true, false])
        tier.remove(named: ChangedNames(urls: [number("other")]), by: number)
        #expect(left() == [false, true, false])
    }
}
