import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("Lookups of a person") struct InspectingLookupTests {
    private let sound = Result { try CacheEntry.stub("sound") }
    private let damaged = Result { try CacheEntry.stub("damaged", body: .noise(200_000)) }

    /// Stores both entries, damages the body of one, and opens the store for a person.
    private func inspected(_ store: BodyStore) async throws -> Cache {
        let cache = try store.open()
        for entry in [try sound.get(), try damaged.get()] { cache.store(entry) }
        await cache.flush()
        try store.temporary.execute(
            "UPDATE body SET bytes = zeroblob(length(bytes)) WHERE id IN (SELECT id << 20 FROM entry WHERE body_size > 9999)"
        )
        let inspected = try store.open()
        inspected.isInspecting = true
        return inspected
    }

    @Test(arguments: [false, true]) func `count as no use, and leave a damaged entry`(isSealed: Bool) async throws {
        let store = BodyStore(isSealed: isSealed)
        let cache = try await inspected(store)
        let (sound, damaged) = (try sound.get(), try damaged.get())
        #expect(try cache.storedResponse(of: sound.key, request: sound.request) == sound.stored)
        #expect(cache.find(sound.key, request: sound.request) == sound.stored)
        #expect(try cache.storedResponse(of: damaged.key, request: damaged.request) == nil)
        #expect(cache.find(damaged.key, request: damaged.request) == nil)
        await cache.flush()
        #expect(store.events.dropped.isEmpty)
        #expect(try store.temporary.rows("entry WHERE is_visited = 0") == 2)
        // Those of a program do both.
        let program = try store.open()
        for entry in [sound, damaged] { _ = program.find(entry.key, request: entry.request) }
        await program.flush()
        #expect(try store.temporary.rows("entry WHERE is_visited = 1") == 1)
        #expect(try store.temporary.rows("entry") == 1)
    }

    @Test(arguments: [false, true]) func `read no body above a limit`(isSealed: Bool) async throws {
        let store = BodyStore(isSealed: isSealed)
        let cache = try await inspected(store)
        let (sound, large) = (try sound.get(), try damaged.get())
        let head = try cache.storedResponse(of: large.key, request: large.request, bodyLimit: 199_999)
        #expect(head == large.stored.withoutBody && head?.isWhole == false)
        #expect(try cache.storedResponse(of: sound.key, request: sound.request, bodyLimit: 4) == sound.stored)
    }
}
