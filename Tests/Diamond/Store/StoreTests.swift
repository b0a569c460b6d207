import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A store that cannot be used") struct StoreTests {
    let temporary = TemporaryStore()

    private func engine() -> Engine { temporary.engine(StubTransport(headers: [.cacheControl: "max-age=60"])) }

    @Test func `a store with a newer schema is refused with a remedy, and not changed`() async throws {
        _ = try Cache(temporary.store)
        try temporary.execute("PRAGMA user_version = 99")
        let error = #expect(throws: CacheError.self) { try Cache(temporary.store) }
        #expect(error?.code == .newerStore)
        #expect(error?.message.contains("update this program") == true)
        #expect(try await engine().send(Request("http://h/")).source == .network)
    }

    @Test func `a store whose directory is a file lets requests through`() async throws {
        try Data().write(to: temporary.directory)
        let engine = engine()
        #expect(engine.cache == nil)
        #expect(engine.cacheFailure?.code == .cannotOpen)
        #expect(try await engine.send(Request("http://h/")).status == .ok)
    }

    /// A reason why a file cannot be opened. The modes do not apply to root.
    enum Hindrance: CaseIterable { case directory, disk, fileMode, directoryMode }

    private static let hindrances = Hindrance.allCases.filter { geteuid() != 0 || $0 == .directory || $0 == .disk }

    /// Applies a hindrance to the store and its disk.
    private func hinder(_ hindrance: Hindrance, _ disk: FaultDisk) throws {
        let path = temporary.store.cachePath
        switch hindrance {
        case .directory:
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        case .disk: disk.fail(.readError, atCall: 1, lasting: true)
        case .fileMode:
            try temporary.store.create()
            _ = FileManager.default.createFile(atPath: path, contents: nil)
            try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: path)
        case .directoryMode:
            try temporary.store.create()
            try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: temporary.directory.path)
        }
    }

    private func engine(on disk: FaultDisk) -> Engine {
        var store = temporary.store
        store.vfs = disk.vfs
        var configuration = Engine.Configuration(store: store)
        configuration.transport = StubTransport(headers: [.cacheControl: "max-age=60"])
        return Engine(configuration)
    }

    private func giveBack() {
        let path = temporary.directory.path
        try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
    }

    @Test(arguments: hindrances) func `a store that cannot be opened lets requests through`(
        hindrance: Hindrance
    ) async throws {
        let disk = FaultDisk(directory: temporary.directory)
        try hinder(hindrance, disk)
        defer { giveBack() }
        let engine = engine(on: disk)
        #expect(engine.cache == nil)
        #expect(engine.cacheFailure?.code == .cannotOpen)
        #expect(engine.cacheFailure?.message.contains("check that the directory exists and is writable") == true)
        for _ in 0..<2 { #expect(try await engine.send(Request("http://h/")).source == .network) }
    }

    // An open file stays open, whatever the mode of the file.
    @Test(arguments: hindrances.filter { $0 != .fileMode })
    func `a store that cannot be written any more lets requests through, and says so`(hindrance: Hindrance) async throws
    {
        let disk = FaultDisk(directory: temporary.directory)
        let engine = engine(on: disk)
        _ = try await engine.send(Request("http://h/before"))
        await engine.cache?.flush()
        let failures = Guarded(0)
        let observation = engine.activity.observe { event in
            if case .cacheFailed = event { failures.withLock { $0 += 1 } }
        }
        try hinder(hindrance, disk)
        defer { giveBack() }
        #expect(try await engine.send(Request("http://h/after")).source == .network)
        await engine.cache?.flush()
        #expect(failures.withLock { $0 } > 0)
        withExtendedLifetime(observation) {}
    }

    @Test(arguments: [
        ("shop", "shop"), ("com.example.shop", "com.example.shop"), ("my shop", "my%20shop"), ("a/b", "a%2Fb"),
        ("../../etc", "%2E.%2F..%2Fetc"), (".", "%2E"), ("", "%"),
    ])
    func `a named store is below the user's directories, whatever its name`(name: String, file: String) {
        let (one, other) = (Store(named: name), Store(named: "other"))
        #expect(one.directory.path.hasSuffix("/Diamond/\(file)"))
        #expect(one.replayDirectory.path.hasSuffix("/Diamond/\(file)"))
        #expect(one.directory.deletingLastPathComponent() == other.directory.deletingLastPathComponent())
        #expect(one.replayDirectory.deletingLastPathComponent() == other.replayDirectory.deletingLastPathComponent())
        #expect(one.directory != one.replayDirectory)
    }

    @Test func `a missing store is not created by readers`() {
        let error = #expect(throws: CacheError.self) { try Cache(temporary.store, create: false) }
        #expect(error?.code == .noStore)
        #expect(!FileManager.default.fileExists(atPath: temporary.directory.path))
    }

    // A link to itself cannot be read by any user, like the directory of another user.
    @Test func `a store whose directory cannot be read is not reported as missing`() throws {
        let path = temporary.directory.path
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path)
        let error = #expect(throws: CacheError.self) { try Cache(temporary.store, create: false) }
        #expect(error?.code == .cannotOpen)
        #expect(error?.message.contains("cannot read the directory \(path) (") == true)
    }

    @Test func `a store is private to its owner`() throws {
        _ = try Cache(temporary.store)
        let directory = try FileManager.default.attributesOfItem(atPath: temporary.directory.path)
        let file = try FileManager.default.attributesOfItem(atPath: temporary.store.cachePath)
        #expect(directory[.posixPermissions] as? Int == 0o700)
        #expect(file[.posixPermissions] as? Int == 0o600)
    }
}
