package import Diamond
import DiamondSQLite
import DiamondSchema

/// An inspection of every job of a store's queue. It compares them with their checksums, and changes nothing.
package struct ReplayInspection: Sendable {
    /// The number of jobs read.
    package private(set) var jobs = 0
    package private(set) var findings: [ReplayFinding] = []

    /// Verifies the queue while programs use it; `nil` if the store has none.
    ///
    /// - Throws: ``ReplayError`` if the queue cannot be read. A malformed file is a finding instead.
    package init?(of store: Store) throws(ReplayError) {
        guard try store.hasQueue() else { return nil }
        do throws(SQLiteError) {
            self = try SQLiteDatabase.inspect(at: store.replayPath, configuration: store.replaySchema) {
                (connection) throws(SQLiteError) in try ReplayInspection(connection)
            }
        } catch {
            let failure = ReplayError(error)
            guard failure.code == .corrupt else { throw failure }
            findings = [ReplayFinding(what: "replay.sqlite: \(error.message) (SQLite \(error.code.rawValue))")]
        }
    }

    /// Verifies a queue on a server.
    package init(of queue: ReplayQueue) async throws(ReplayError) {
        jobs = try queue.counts().values.reduce(0, +)
        findings = try await queue.storage.inspection.check()
    }

    private init(_ connection: borrowing SQLiteConnection) throws(SQLiteError) {
        // `cachectl doctor` reports another version.
        let version = try connection.integer("PRAGMA user_version")
        guard version == DiamondSchema.replay.migrations.count else { return }
        findings = try ReplayTable.integrityErrors(on: connection).map { ReplayFinding(what: "replay.sqlite: \($0)") }
        // The contents of a damaged file cannot be trusted.
        guard findings.isEmpty else { return }
        (jobs, findings) = try ReplayTable.damages(on: connection)
    }
}
