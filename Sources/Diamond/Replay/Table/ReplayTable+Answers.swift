import DiamondSQLite
import Foundation
import HTTPTypes

/// Keeping the answers to jobs until they are taken.
extension ReplayTable {
    /// The state of an answer on disk.
    enum KeptAnswer: Hashable, Sendable {
        /// None has come.
        case none
        /// The answer on disk is not the one that was written.
        case damaged
        case answer(ReplayAnswer)
    }

    /// Notes that the answer to a job is wanted.
    ///
    /// - Parameter isAgain: whether an earlier answer is forgotten.
    static func expectAnswer(
        of id: Int64, again isAgain: Bool = false, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        if isAgain { try forgetAnswer(of: id, on: connection) }
        let statement = try connection.statement("INSERT INTO answer (job) VALUES (?) ON CONFLICT DO NOTHING")
        try statement.bind(id, at: 1)
        try statement.run()
    }

    /// Keeps the answer to a job, where it is wanted.
    static func keep(
        _ answer: ReplayAnswer, of id: Int64, at now: Int64, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let statement = try connection.statement(
            """
            UPDATE answer SET status = ?2, location = ?3, body = ?4, received_at = ?5, checksum = ?6 WHERE job = ?1
            """
        )
        try statement.bind(id, at: 1)
        try statement.bind(Int64(answer.status.code), at: 2)
        try statement.bind(answer.location, at: 3)
        try statement.bind(answer.body, at: 4)
        try statement.bind(now, at: 5)
        try statement.bind(answer.checksum, at: 6)
        try statement.run()
    }

    /// - Returns: `nil` where the answer is not wanted, or was taken.
    static func answer(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> KeptAnswer? {
        let statement = try connection.statement(
            "SELECT status, location, body, received_at, checksum FROM answer WHERE job = ?")
        try statement.bind(id, at: 1)
        guard try statement.step() else { return nil }
        guard let status = statement.optional(0) else { return KeptAnswer.none }
        guard (100...999).contains(status) else { return .damaged }
        let answer = ReplayAnswer(
            status: HTTPResponse.Status(code: Int(status)), location: statement.optionalText(1),
            body: statement.isNull(2) ? nil : statement.data(2), receivedAt: Date(milliseconds: statement.int64(3)))
        return answer.checksum == statement.optional(4) ? .answer(answer) : .damaged
    }

    /// The jobs that keep answers, in the order in which they were added, and whether those were taken.
    static func keepingAnswers(
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [(job: ReplayJob, isTaken: Bool)] {
        let statement = try connection.statement(
            composed: """
                SELECT \(columns), (SELECT taken_at IS NOT NULL FROM answer WHERE answer.job = job.id) FROM job
                WHERE id IN (SELECT answer.job FROM answer) ORDER BY id
                """)
        var jobs: [(ReplayJob, Bool)] = []
        while try statement.step() { jobs.append((ReplayJob(statement), statement.int64(26) != 0)) }
        return jobs
    }

    /// Notes that an answer was taken, and keeps it as long as its job.
    static func markTaken(
        _ id: Int64, at now: Int64, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let statement = try connection.statement("UPDATE answer SET taken_at = ? WHERE job = ?")
        try statement.bind(now, at: 1)
        try statement.bind(id, at: 2)
        try statement.run()
    }

    static func forgetAnswer(of id: Int64, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let statement = try connection.statement("DELETE FROM answer WHERE job = ?")
        try statement.bind(id, at: 1)
        try statement.run()
    }
}
