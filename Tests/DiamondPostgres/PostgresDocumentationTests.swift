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
        let articles = ["RunningAFleet", "PlanningForAMillionClients"]
        let text = try articles.map { name in
            let path = "Sources/DiamondPostgres/Documentation.docc/\(name).md"
            return try String(contentsOf: root.appending(path: path), encoding: .utf8)
        }
        let blocks = text.joined(separator: "\n").components(separatedBy: "```").filter { $0.hasPrefix("swift\n") }
        #expect(blocks.count == 4)
        for line in blocks.joined().split(separator: "\n").dropFirst() {
            #expect(compiled.contains(line), "\(line)")
        }
    }

    /// Never called: compiling it is the test.
    private func article() async throws {
        let address = try PostgresAddress("postgresql://queue@db.example.com/app?sslmode=verify-full")
        let engine = Engine(Engine.Configuration(queue: .postgres(address), cache: .postgres(address)))
        let queue = try await ReplayQueue(address)
        _ = (queue, engine)
    }

    /// Never called: compiling it is the test.
    private func partition(_ key: String) -> ReplayQueue {
        let partitions: [ReplayQueue] = []

        func queue(for orderingKey: String) -> ReplayQueue {
            // FNV-1a: the same in every process and version, unlike hashValue.
            let hash = orderingKey.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
            return partitions[Int(hash % UInt64(partitions.count))]
        }
        return queue(for: key)
    }

    /// Never called: compiling it is the test.
    private func cache(at address: PostgresAddress) {
        let cache = Engine.Configuration(cache: .postgres(address, capacity: 4 << 30))
        let engine = Engine(cache)
        _ = engine
    }
}
#endif
