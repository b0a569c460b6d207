import Foundation
import Testing

@testable import Diamond

@Suite("The directories of a user") struct UserDirectoriesTests {
    private static let rows: [(environment: [String: String], home: String?, caches: String, data: String)] = [
        (["HOME": "/h"], "/db", "/h/.cache", "/h/.local/share"),
        ([:], "/db", "/db/.cache", "/db/.local/share"),
        (["HOME": ""], "/db", "/db/.cache", "/db/.local/share"),
        (["HOME": "h", "XDG_CACHE_HOME": "c"], "/db", "/db/.cache", "/db/.local/share"),
        (["HOME": "/h", "XDG_CACHE_HOME": "/c"], nil, "/c", "/h/.local/share"),
        (["XDG_CACHE_HOME": "/c", "XDG_DATA_HOME": "/d"], nil, "/c", "/d"),
    ]

    @Test(arguments: rows)
    func `a user's directories come from the environment, or else from the home that the system knows`(
        environment: [String: String], home: String?, caches: String, data: String
    ) {
        let user = UserDirectories(environment, home: home)
        #expect(user.caches.path == caches && user.data.path == data && user.obstacle == nil)
    }

    @Test func `a user without a home has no directories, and no store is opened`() throws {
        let user = UserDirectories(["XDG_DATA_HOME": "/d"], home: nil)
        #expect(user.obstacle?.hasPrefix("this user has no home directory: set HOME") == true)
        var store = Store(directory: URL(filePath: "/nonexistent"))
        store.obstacle = user.obstacle
        for body in [{ _ = try Cache(store) }, { _ = try Cache(store, create: false) }] {
            let error = #expect(throws: CacheError.self) { try body() }
            #expect(error?.code == .cannotOpen && error?.message == user.obstacle)
        }
        for body in [{ _ = try ReplayQueue(store) }, { _ = try ReplayQueue(existing: store) }] {
            #expect(throws: ReplayError.self) { try body() }
        }
    }
}
