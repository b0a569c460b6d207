package import Diamond
import DiamondSQLite
import DiamondSchema

/// An inspection of every job of a store's queue. It compares them with their checksums, and changes nothing.
package struct ReplayInspection: Sendable {
    /// A damaged part of the queue.
    package struct Finding: Hashable, Sendable {
        /// The damaged job; `nil` if the file is damaged.
        package var id: ReplayJob.ID?
        /// The damage, in a few words.
        package var what: String
    }

    /// The number of jobs read.
    package private(set) var jobs = 0
    package private(set) var findings: [Finding] = []

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
            findings = [Finding(what: "replay.sqlite: \(error.message) (SQLite \(error.code.rawValue))")]
        }
    }

    private init(_ connection: borrowing SQLiteConnection) throws(SQLiteError) {
        // `cachectl doctor` reports another version.
        let version = try connection.integer("PRAGMA user_version")
        guard version == DiamondSchema.replay.migrations.count else { return }
        findings = try ReplayTable.integrityErrors(on: connection).map { Finding(what: "replay.sqlite: \($0)") }
        // The contents of a damaged file cannot be trusted.
        guard findings.isEmpty else { return }
        try read(connection)
    }

    init(jobsOn connection: borrowing SQLiteConnection) throws(SQLiteError) { try read(connection) }

    private mutating func read(_ connection: borrowing SQLiteConnection) throws(SQLiteError) {
        var last = Int64.min
        while let end = try read(after: last, on: connection) { last = end }
    }

    private mutating func read(
        after last: Int64, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Int64? {
        let ids = try ReplayTable.ids(after: last, on: connection)
        for id in ids {
            jobs += 1
            if let damage = try ReplayTable.storedRow(id, withRequest: true, on: connection)?.damage {
                findings.append(Finding(id: id, what: "job \(id): \(damage)"))
            }
        }
        return ids.last
    }
}
