import Diamond
import DiamondTesting
import Foundation
import Testing

extension DocumentationTests {
    func adding(to storage: any ReplayStorage) async throws {
        let queue = ReplayQueue(storage: storage)
        try await queue.enqueue(Request("https://api.example.com/orders", method: .post))
    }

    struct Table {
        var claim: ReplayClaim
        func hasFailed(_ id: ReplayJob.ID, _ code: String) -> Bool { false }
        func isHeld(_ row: ReplayRow) -> Bool { false }
        func save(_ row: ReplayRow, _ failure: ReplayDraft.History.Failure?, _ verb: ReplayTransition.Verb) {}
    }

    func end(_ stored: ReplayRow, _ report: ReplayReport, at now: QueueTime, in table: Table) -> ReplayState? {
        guard stored.state == .running, stored.token == table.claim.token else { return nil }
        var row = stored
        let failure = row.finish(report, at: now) { code in table.hasFailed(stored.id, code) }
        row.updateState(at: now) { row in table.isHeld(row) }
        table.save(row, failure, row.state == .done ? .finish : .fail)
        return row.state
    }

    struct TestServer {
        func storage() async throws -> any ReplayStorage { throw ReplayError(.closed, "no server") }
        func moveClock(by duration: Duration) async throws {}
    }

    struct DriverPlace: ReplayStorageSuite.Place {
        let server = TestServer()

        func open() async throws -> any ReplayStorage { try await server.storage() }
        func advance(by duration: Duration) async throws { try await server.moveClock(by: duration) }
    }

    func checking() async {
        let suite = ReplayStorageSuite { DriverPlace() }
        for check in ReplayStorageSuite.Check.all {
            #expect(await suite.failure(of: check) == nil)
        }
    }
}
