import DiamondSQLite
import Foundation
import HTTPTypes

/// Storing the answers to jobs until they are consumed.
extension ReplayTable {
    /// Notes that the answer to a job is to be stored.
    ///
    /// - Parameter isReset: whether to delete an earlier answer.
    static func expectAnswer(
        of id: Int64, reset isReset: Bool = false, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        if isReset { try deleteAnswer(of: id, on: connection) }
        try connection.run("INSERT INTO answer (job) VALUES (\(id)) ON CONFLICT DO NOTHING")
    }

    /// Stores the answer to a job, if one is expected.
    static func store(
        _ answer: ReplayAnswer, of id: Int64, at now: QueueTime, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let answer = try connection.sealing?.sealed(answer, of: id) ?? answer
        try connection.run(
            """
            UPDATE answer SET status = \(answer.status.code), location = \(answer.location), body = \(answer.body),
                received_at = \(now), checksum = \(answer.checksum), headers = \(answer.headerBlock)
            WHERE job = \(id)
            """
        )
    }

    /// Returns the answer to a job; `nil` if none is expected, or it was deleted.
    static func answer(
        of id: Int64, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> ReplayStoredAnswer? {
        let stored = try storedAnswer(of: id, on: connection)
        guard case .answer(let answer, let time) = stored, let sealing = connection.sealing else { return stored }
        return try sealing.opened(answer, of: id).map { .answer($0, receivedAt: time) } ?? .damaged
    }

    enum AnswerColumn: Int, SQLiteColumns { case status, location, body, receivedAt, checksum, headers }

    /// Returns the answer to a job as it is on disk, in clear or sealed.
    static func storedAnswer(
        of id: Int64, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> ReplayStoredAnswer? {
        let statement = try connection.statement(
            "SELECT status, location, body, received_at, checksum, headers FROM answer WHERE job = \(id)",
            columns: AnswerColumn.self)
        guard try statement.step() else { return nil }
        guard let status = statement.optional(AnswerColumn.status) else { return ReplayStoredAnswer.none }
        guard (100...999).contains(status) else { return .damaged }
        let answer = ReplayAnswer(
            status: HTTPResponse.Status(code: Int(status)), location: statement.optionalText(AnswerColumn.location),
            headers: HeaderBlock.fields(of: statement.data(AnswerColumn.headers)),
            body: statement.optionalData(AnswerColumn.body))
        guard answer.checksum == statement.optional(AnswerColumn.checksum) else { return .damaged }
        return .answer(answer, receivedAt: statement.time(AnswerColumn.receivedAt))
    }

    /// Returns the jobs that store answers, in the order in which they were added, and whether each answer was
    /// consumed.
    ///
    /// - Parameter id: the only job to return; `nil` for all.
    static func jobsStoringAnswers(
        _ id: Int64? = nil, at moment: ReplayMoment, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [(job: ReplayJob, isConsumed: Bool)] {
        let condition: SQL = if let id { "answer.job = \(id)" } else { "TRUE" }
        let sql: SQL = """
            SELECT \(sql: columns), (SELECT taken_at IS NOT NULL FROM answer WHERE answer.job = job.id) AS is_taken
            FROM job
            WHERE id IN (SELECT answer.job FROM answer WHERE \(sql: condition)) ORDER BY id
            """
        return try connection.rows(sql, columns: Column.self) { (row) throws(SQLiteError) in
            (try ReplayJob(row, at: moment, on: connection), row.int64(Column.isTaken) != 0)
        }
    }

    /// Notes that an answer was consumed. It stays as long as its job.
    static func markConsumed(
        _ id: Int64, at now: QueueTime, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        try connection.run("UPDATE answer SET taken_at = \(now) WHERE job = \(id)")
    }

    static func deleteAnswer(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        try connection.run("DELETE FROM answer WHERE job = \(id)")
    }
}
