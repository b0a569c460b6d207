import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("The heads of records") struct CacheHeadTests {
    private func record(_ change: (inout CacheEntry) -> Void = { _ in }) throws -> CacheRecord {
        let form = try CanonicalForm(of: Request("http://h/a?b"), rules: KeyRules())
        var stored = StoredResponse.stub(lifetime: 60_000, flags: [.hasValidator, .heuristic], initialAge: 3)
        stored.body = Data("body".utf8)
        var entry = CacheEntry(
            key: form.key, request: form.bytes, url: "http://h/a?b", method: "GET", stored: stored, tags: ["é", ""])
        change(&entry)
        return CacheRecord(entry)
    }

    @Test func `a record is read from its head as it was stored`() throws {
        for requestKey in [nil, RequestKey(String(repeating: "ab", count: 32))] {
            for identity in [nil, "", "alice"] {
                let record = try record { entry in
                    entry.identity = identity
                    entry.requestKey = requestKey
                    entry.stored.lifetime = identity == nil ? nil : 1
                }
                let read = try #require(CacheRecord(head: record.head, isStale: false, chunks: record.chunks))
                #expect(read.head == record.head)
                #expect(read.version == record.version)
                #expect(read.names == record.names.sorted())
                #expect(read.requestKey == record.requestKey)
                #expect(read.entry.identity == identity)
                #expect(read.entry.stored.headerBlock == record.entry.stored.headerBlock)
                #expect(read.entry.stored.flags == record.entry.stored.flags)
                #expect(read.isSound)
            }
        }
    }

    @Test func `marks are not part of a head`() throws {
        var marked = try record()
        marked.isStale = true
        marked.isPinned = true
        #expect(marked.head == (try record().head))
        let read = try #require(CacheRecord(head: marked.head, isStale: true, isPinned: true, chunks: marked.chunks))
        #expect(read.isStale && read.isPinned && read.isSound)
        #expect(read.expiry == nil)
    }

    @Test func `a head with any byte missing or changed is refused`() throws {
        let head = try record().head
        for index in 0..<head.count {
            #expect(CacheRecord(head: head.prefix(index), isStale: false)?.key == nil, "\(index) bytes")
            var damaged = head
            damaged[index] ^= 0x40
            #expect(CacheRecord(head: damaged, isStale: false)?.key == nil, "byte \(index)")
        }
    }

    @Test func `a record with damaged chunks is not sound`() throws {
        let record = try record()
        for chunks in [[], [Data("bodY".utf8)], [Data("body".utf8), Data()], [Data("bod".utf8)]] {
            #expect(!record.with(chunks: chunks).isSound)
        }
    }
}
