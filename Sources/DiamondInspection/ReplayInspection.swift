package import Diamond
import DiamondSQLite
import DiamondSchema

/// Every job of a store's queue, held against its checksums. Nothing is changed by asking.
package struct ReplayInspection: Sendable {
    /// Something of the queue that is not as it was written.
    package struct Finding: Hashable, Sendable {
        /// The job; `nil` where it is the file.
        package var id: ReplayJob.ID?
        /// In a few words.
        package var what: String
    }

    /// Jobs that were read.
    package private(set) var jobs = 0
    package private(set) var findings: [Finding] = []

    /// Reads the queue while programs use it; `nil` where the store has none.
    ///
    /// - Throws: ``ReplayError`` where it cannot be read. That the file is malformed is a finding.
    package init?(of store: Store) throws(ReplayError) {
        guard try store.hasQueue() else { return nil }
        do throws(SQLiteError) {
            self = try SQLiteDatabase.look(at: store.replayPath, store.replaySchema) {
                (connection) throws(SQLiteError) in try ReplayInspection(connection)
            }
        } catch {
            let failure = ReplayError(error)
            guard failure.code == .corrupt else { throw failure }
            findings = [Finding(what: "replay.sqlite: \(error.message) (SQLite \(error.code.rawValue))")]
        }
    }

    private init(_ connection: borrowing SQLiteConnection) throws(SQLiteError) {
        // Of another version doctor tells.
        let version = try connection.integer("PRAGMA user_version")
        guard version == DiamondSchema.replay.migrations.count else { return }
        findings = try ReplayTable.integrityErrors(on: connection).map { Finding(what: "replay.sqlite: \($0)") }
        // In such a file nothing else is to be trusted.
        guard findings.isEmpty else { return }
        try read(connection)
    }

    init(jobsOn connection: borrowing SQLiteConnection) throws(SQLiteError) { try read(connection) }

    private mutating func read(_ connection: borrowing SQLiteConnection) throws(SQLiteError) {
        var last = Int64.min
        while let end = try read(after: last, connection) { last = end }
    }

    private mutating func read(
        after last: Int64, _ connection: borrowing SQLiteConnection
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
