import DiamondSQLite

@testable import Diamond

/// The SQLite storage of a queue that a test has opened in a store.
extension ReplayQueue {
    var sqlite: SQLiteReplayStorage {
        guard let storage = storage as? SQLiteReplayStorage else { preconditionFailure("the queue is not in a file") }
        return storage
    }

    var store: Store { sqlite.store }
    var database: SQLiteDatabase { sqlite.database }
    var writer: ReplayWriter { sqlite.writer }
    var answerLog: AnswerLog { sqlite.answerLog }
    var isBehindSeal: Bool { sqlite.isBehindSeal }

    func read<Value>(
        _ body: (borrowing SQLiteConnection) throws(SQLiteError) -> Value
    ) throws(ReplayError) -> Value { try sqlite.read(body) }
}
