#if Postgres && canImport(CDiamondPostgres)
import Diamond
import DiamondPostgres
import Foundation
import Testing

/// The code of the documentation, compiled; the test proves that it is the same.
@Suite("Code in the documentation of DiamondPostgres") struct PostgresDocumentationTests {
    @Test func `the documentation shows only code that compiles here`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let compiled = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        let article = "Sources/DiamondPostgres/Documentation.docc/RunningAFleet.md"
        let parts = try String(contentsOf: root.appending(path: article), encoding: .utf8).components(
            separatedBy: "```")
        let blocks = parts.filter { $0.hasPrefix("swift\n") }
        #expect(blocks.count == 3)
        for line in blocks.joined().split(separator: "\n").dropFirst() {
            #expect(compiled.contains(line), "\(line)")
        }
    }

    /// Never called: compiling it is the test.
    private func article() async throws {
        let address = try PostgresAddress("postgresql://queue@db.example.com/app?sslmode=verify-full")
        let engine = Engine(Engine.Configuration(queue: .postgres(address), cache: .postgres(address)))
        let storage = try await PostgresReplayStorage(address)
        let queue = ReplayQueue(storage: storage)
        _ = (queue, engine)
    }

    /// Never called: compiling it is the test.
    private func cache(at address: PostgresAddress) {
        let cache = Engine.Configuration(cache: .postgres(address, capacity: 4 << 30))
        let engine = Engine(cache)
        _ = engine
    }
}
#endif
