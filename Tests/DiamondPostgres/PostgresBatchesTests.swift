#if Postgres && canImport(CDiamondPostgres)
import Diamond
import DiamondSQLite
import DiamondTestSupport
import Testing

@testable import DiamondPostgres

@Suite("Batches of calls", .limit(minutes: 1)) struct PostgresBatchesTests {
    private let sizes = Guarded<[Int]>([])

    /// Makes calls at the same time. The first batch ends when all have been made.
    private func call(_ count: Int, in batches: PostgresBatches<Int, Int>, refusing refused: Int? = nil) async {
        let begun = Guarded(0)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                group.addTask { [sizes] in
                    begun.withLock { $0 += 1 }
                    let output = try? await batches.call(number) { (items) throws(PostgresError) in
                        sizes.withLock { $0.append(items.count) }
                        while begun.withLock({ $0 < count }) { await Task.yield() }
                        if let refused, items.contains(refused) { throw PostgresError(.refused, "a test") }
                        return items.map { $0 * 2 }
                    }
                    #expect(output == (number == refused ? nil : number * 2))
                }
            }
        }
    }

    @Test(arguments: [1, 2]) func `share a transaction with those that come meanwhile`(width: Int) async {
        let batches = PostgresBatches<Int, Int>(width: width)
        for _ in 0..<20 { await call(10, in: batches) }
        let sizes = sizes.withLock { $0 }
        #expect(sizes.reduce(0, +) == 200 && sizes.count < 150, "\(sizes)")
    }

    @Test func `have at most as many calls as a batch may have`() async {
        let batches = PostgresBatches<Int, Int>(size: 3)
        for _ in 0..<10 { await call(10, in: batches) }
        let sizes = sizes.withLock { $0 }
        #expect(sizes.reduce(0, +) == 100 && sizes.allSatisfy { $0 <= 3 }, "\(sizes)")
    }

    @Test func `are repeated one by one when the server refuses their batch`() async {
        let batches = PostgresBatches<Int, Int>()
        for _ in 0..<10 { await call(10, in: batches, refusing: 7) }
    }

    @Test func `do not wait for others after calls that were made one after the other`() async throws {
        let batches = PostgresBatches<Int, Int>()
        for number in 0..<100 {
            let output = try await batches.call(number) { [sizes] (items) throws(PostgresError) in
                sizes.withLock { $0.append(items.count) }
                return items
            }
            #expect(output == number)
            #expect(batches.usualCount == 1)
        }
        #expect(sizes.withLock { $0 } == Array(repeating: 1, count: 100))
    }
}
#endif
