import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite struct `A store that cannot be used` {
    let temporary = TemporaryStore()

    private func engine() -> Engine { temporary.engine(StubTransport(headers: [.cacheControl: "max-age=60"])) }

    @Test func `because of a newer schema is refused with a remedy, untouched`() async throws {
        _ = try Cache(temporary.store)
        try temporary.execute("PRAGMA user_version = 99")
        let error = #expect(throws: CacheError.self) { try Cache(temporary.store) }
        #expect(error?.code == .newerStore)
        #expect(error?.message.contains("update this program") == true)
        #expect(try await engine().send(Request("http://h/")).source == .network)
    }

    @Test func `because a file stands in its place lets requests through`() async throws {
        try Data().write(to: temporary.directory)
        let engine = engine()
        #expect(engine.cache == nil)
        #expect(engine.cacheFailure?.code == .cannotOpen)
        #expect(try await engine.send(Request("http://h/")).status == .ok)
    }

    @Test func `because it is not there is not made for looking`() {
        let error = #expect(throws: CacheError.self) { try Cache(temporary.store, create: false) }
        #expect(error?.code == .noStore)
        #expect(!FileManager.default.fileExists(atPath: temporary.directory.path))
    }

    @Test func `is private to its owner`() throws {
        _ = try Cache(temporary.store)
        let directory = try FileManager.default.attributesOfItem(atPath: temporary.directory.path)
        let file = try FileManager.default.attributesOfItem(atPath: temporary.store.cachePath)
        #expect(directory[.posixPermissions] as? Int == 0o700)
        #expect(file[.posixPermissions] as? Int == 0o600)
    }
}
