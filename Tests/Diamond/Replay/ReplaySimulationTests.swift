import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

@testable import Diamond

/// The simulations run one after another. Concurrent simulations would contend for the lock of SQLite's memory, and
/// occupy all threads of the other tests.
@Suite("A simulation of a queue", .serialized) struct ReplaySimulationTests {
    /// Many short simulations: 300,000 steps in all, and ten million in the long form.
    static let (seeds, steps) = (Effort.rounds(3, soaking: 100), 5_000)

    @Test(arguments: 0..<20)
    func `a simulation with random faults loses no job, and repeats or reorders no job`(_ part: Int) async throws {
        var (lost, effects) = (0, 0)
        for seed in part * Self.seeds..<(part + 1) * Self.seeds {
            var simulation = try ReplaySimulation(seed: UInt64(seed))
            try simulation.run(Self.steps)
            #expect(simulation.violations.isEmpty, "seed \(seed)")
            lost += simulation.lostTransactions
            effects += simulation.world.known.values.filter { $0.effects > 0 }.count
            // This lets other tests use the thread.
            await Task.yield()
        }
        #expect(lost > 0 && effects > 25 * Self.seeds)
    }

    @Test(arguments: 0..<5)
    func `a simulation with objects without ids sends no local id, and lets no job wait for a known id`(
        _ part: Int
    ) async throws {
        for seed in part * Self.seeds..<(part + 1) * Self.seeds {
            var simulation = try ReplaySimulation(seed: UInt64(seed), hasObjects: true)
            try simulation.run(Self.steps)
            #expect(simulation.violations.isEmpty, "seed \(seed): \(simulation.violations)")
            #expect(simulation.world.objects.count > 20)
            await Task.yield()
        }
    }

    @Test func `a simulation takes the same steps for the same seed`() throws {
        var first = try ReplaySimulation(seed: 4711)
        var second = try ReplaySimulation(seed: 4711)
        try first.run(2_000)
        try second.run(2_000)
        #expect(first.fixture.transitions == second.fixture.transitions)
    }

    @Test func `a simulation ends every job when nothing fails any more`() throws {
        var simulation = try ReplaySimulation(seed: 99)
        try simulation.run(5_000)
        #expect(simulation.violations.isEmpty)
        let fixture = simulation.fixture
        try fixture.write { (connection, ledger) throws(SQLiteError) in
            for hold in [ReplayHold.queue, .key("a"), .key("b"), .identity("anna"), .lane(.default)] {
                try ReplayTable.remove(hold, on: connection, ledger: &ledger)
            }
            _ = try ReplayTable.applyHolds(
                to: ReplayTable.orphans(on: connection), in: [.held], on: connection, ledger: &ledger)
            for owner in try ReplayTable.owners(on: connection) {
                try ReplayTable.removeOwner(owner.id, jobsMayBeCause: false, on: connection, ledger: &ledger)
            }
            for id in simulation.world.known.keys.sorted() {
                _ = try ReplayTable.apply(.release, to: id, on: connection, ledger: &ledger)
                guard let row = try ReplayTable.row(id, on: connection), row.isStrict, row.state.isEnd else { continue }
                _ = try ReplayTable.apply(.discard, to: id, on: connection, ledger: &ledger)
            }
        }
        let owner = try fixture.owner(lease: .max / 2)
        for _ in 0..<2_000 {
            fixture.now += 60_000
            for job in try fixture.claim(10, by: owner) {
                try fixture.finish(job, .success)
            }
        }
        let open = try fixture.database.read { (connection) throws(SQLiteError) in
            try ReplayTable.stateCounts(on: connection).filter { !$0.key.isEnd && $0.value > 0 }
        }
        #expect(open.isEmpty)
    }
}
