import Foundation
import Testing

@testable import Diamond

@Suite("The entries that lookups have loaded") struct LoadedEntriesTests {
    private let loaded = LoadedEntries()

    private func entry(_ name: String) throws -> LoadedEntries.Entry {
        let entry = try CacheEntry.stub(name, size: 10)
        return LoadedEntries.Entry(key: entry.key, request: entry.request, url: entry.url, stored: entry.stored)
    }

    private func find(_ entry: LoadedEntries.Entry) -> StoredResponse? {
        loaded.find(entry.key, request: entry.request)
    }

    @Test func `they are found until the last lookup has ended`() throws {
        let entry = try entry("a")
        var first = loaded.add([entry], since: loaded.changes)
        var second = loaded.add([entry], since: loaded.changes)
        #expect(first != nil && second != nil)
        first = nil
        #expect(find(entry) == entry.stored)
        second = nil
        #expect(find(entry) == nil)
    }

    @Test func `a removal concerns only its key, also for lookups that have begun`() throws {
        let (kept, removed) = (try entry("a"), try entry("b"))
        let start = loaded.changes
        loaded.remove(removed.key)
        let use = try #require(loaded.add([kept, removed], since: start))
        #expect(find(kept) == kept.stored)
        #expect(find(removed) == nil)
        #expect(loaded.add([removed], since: start) == nil)
        #expect(loaded.hasRemoved(removed.key, since: start) && !loaded.hasRemoved(kept.key, since: start))
        loaded.remove(kept.key)
        #expect(find(kept) == nil)
        withExtendedLifetime(use) {}
    }

    @Test(arguments: [false, true])
    func `lookups that began before the removal of all, or of more than is remembered, add nothing`(isAll: Bool) throws
    {
        let (entry, other) = (try entry("a"), try entry("b"))
        let start = loaded.changes
        if isAll { loaded.removeAll() } else { for _ in 0..<2000 { loaded.remove(other.key) } }
        #expect(loaded.add([entry], since: start) == nil)
        #expect(loaded.add([entry], since: loaded.changes) != nil)
    }
}
