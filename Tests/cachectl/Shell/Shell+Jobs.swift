import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond
@testable import DiamondSQLite

extension Shell {
    /// The store's queue, as a program of its own has it.
    func queue() throws -> ReplayQueue { try ReplayQueue(temporary.store) }

    /// Sends what is first, as a replayer would, with this outcome. What waits after it waits for ten days more, so
    /// that no time comes while a test goes on.
    func attempt(_ outcome: ReplayOutcome, of count: Int = 1) async throws {
        let queue = try queue()
        let owner = try await queue.owner.enter()
        for job in try await queue.claim(count, of: .all, by: owner) ?? [] {
            _ = await queue.begin(job)
            _ = await queue.finish(job, outcome: outcome)
        }
        queue.owner.leave()
        await queue.close()
        try rewriteQueue("UPDATE job SET run_at = run_at + 907200000 WHERE state = 1 AND reason = 'backoff'")
    }

    /// The same, where what is in the file then counts as written.
    func rewriteQueue(_ sql: String) throws {
        try damageQueue(sql)
        let storage = try #require(try queue().storage as? SQLiteReplayStorage)
        try storage.database.write { (connection) throws(SQLiteError) in
            for id in try ReplayTable.ids(after: 0, on: connection) {
                guard let row = try ReplayTable.storedRow(id, on: connection)?.row else { continue }
                try connection.execute("UPDATE job SET checksum = \(row.checksum) WHERE id = \(id)")
            }
        }
    }

    /// Runs SQL on the queue's file, past all that Diamond guards.
    func damageQueue(_ sql: String) throws {
        // Read and write.
        try SQLiteHandle(path: temporary.store.replayPath, flags: 2, vfs: nil).execute(sql)
    }

    /// The names of what is in the store.
    func files() -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: temporary.directory.path)) ?? []).sorted()
    }
}

extension BuiltTool.Outcome {
    /// Its output, times and fresh names masked, and ages of seconds and minutes said to be none.
    var masked: String {
        text.replacing(#/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/#, with: "TIME")
            .replacing(#/[0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12}/#, with: "UUID")
            .replacing(#/[ \d]\d[sm]\b/#, with: " 0s")
    }
}
