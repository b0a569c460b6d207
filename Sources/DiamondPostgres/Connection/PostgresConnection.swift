#if Postgres && canImport(CDiamondPostgres)
import CDiamondPostgres
import Diamond
import Foundation

/// One connection to the server, in libpq's pipeline mode.
///
/// A statement without a result to read is only added to the pipeline: it is sent together with the next statement whose
/// rows are read, or with the COMMIT. So a transaction that reads nothing takes one round trip. Statements are prepared
/// once for each connection.
///
/// Belongs to one thread, whose calls block.
package final class PostgresConnection {
    private let handle: OpaquePointer
    private let address: PostgresAddress
    /// The names of the prepared statements, by their text.
    private var statements: [String: String] = [:]
    /// The answers of the server that were not read yet, in their order.
    private var pending: [Answer] = []
    /// The time at which the server has to have answered.
    private var deadline = Uptime.max
    private var lastStatement = 0
    private var isUndone = false
    /// Whether the connection was lost, or an answer may still come that nobody expects.
    private var isLost = false

    private enum Answer {
        case prepared(String)
        case result
        case end
    }

    /// Connects to the server, and prepares the session. Blocks for as long as the address's `connect_timeout`, which is
    /// 5 seconds by default, for each of its hosts.
    ///
    /// - Parameter name: what the connection is for, shown in `pg_stat_activity`.
    init(_ address: PostgresAddress, name: String) throws(PostgresError) {
        self.address = address
        // Later keywords do not replace earlier ones, so these are defaults. A server that was silent for 20 seconds
        // counts as lost.
        var parameters = [
            "connect_timeout": "5", "target_session_attrs": "read-write", "tcp_user_timeout": "20000",
            "keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "2",
            "fallback_application_name": "diamond \(name)",
        ]
        parameters.merge(address.parameters) { $1 }
        parameters["client_encoding"] = "UTF8"
        let keys = parameters.keys.sorted()
        handle = Self.withCStrings(keys) { keywords in
            Self.withCStrings(keys.map { parameters[$0] ?? "" }) { PQconnectdbParams(keywords, $0, 0) }
        }
        // libpq would write the server's notices to standard error.
        PQsetNoticeReceiver(handle, { _, _ in }, nil)
        guard PQstatus(handle) == CONNECTION_OK, PQenterPipelineMode(handle) == 1, PQsetnonblocking(handle, 1) == 0
        else { throw connectionError() }
        try begin()
    }

    deinit { PQfinish(handle) }

    /// Sets up the session. `SET` and not startup options, which PgBouncer refuses.
    private func begin() throws(PostgresError) {
        limit(until: .now + 5000)
        try run("SET search_path = diamond, pg_catalog")
        try run("SET statement_timeout = '15s'")
        try run("SET lock_timeout = '10s'")
        try run("SET idle_in_transaction_session_timeout = '15s'")
        try run("SET default_transaction_isolation = 'read committed'")
        try run("SET default_transaction_read_only = off")
        // A job that was added is on the server's disk, also where the database's default is not to wait for it.
        try run(
            """
            SELECT set_config('synchronous_commit', 'on', false)
            WHERE current_setting('synchronous_commit') = 'off'
            """)
        try sync()
    }

    /// Lets the server plan each statement once, and read tables by their indexes.
    ///
    /// Otherwise it would plan most statements of the queue again for each call, which takes about as long as to run
    /// them. A plan lasts until the tables' statistics change, so it must also be right if the tables were empty when it
    /// was made.
    func planOnce() throws(PostgresError) {
        try run("SET plan_cache_mode = force_generic_plan")
        try run("SET enable_seqscan = off")
        try run("SET enable_bitmapscan = off")
        try run("SET jit = off")
    }

    /// Sets the time at which the server has to have answered, for all following statements.
    func limit(until time: Uptime) { deadline = time }

    /// Whether the connection still seems to be open. Costs a system call, and no round trip.
    var isOpen: Bool {
        guard PQstatus(handle) == CONNECTION_OK else { return false }
        var socket = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
        guard poll(&socket, 1, 0) > 0 else { return true }
        // A notice, or the end.
        return PQconsumeInput(handle) == 1 && PQstatus(handle) == CONNECTION_OK
    }

    // MARK: Statements

    /// Adds a statement to the pipeline. Its failure is thrown by the next ``rows(_:)`` or ``sync()``.
    package func run(_ sql: PostgresSQL) throws(PostgresError) {
        try send(sql)
        pending.append(.result)
        // The server blocks when nobody reads its answers, and then reads no more statements.
        if pending.count >= 256 { try sync() }
    }

    /// Runs a statement, and the ones in the pipeline before it. One round trip.
    package func rows(_ sql: PostgresSQL) throws(PostgresError) -> PostgresRows { try rows([sql])[0] }

    /// Runs a statement as ``rows(_:)`` does, and returns its column `id`.
    func ids(_ sql: PostgresSQL) throws(PostgresError) -> [Int64] { try rows(sql).map { $0.int64("id") } }

    /// Runs statements one after the other, and the ones in the pipeline before them. One round trip.
    ///
    /// - Returns: the rows of each.
    func rows(_ statements: [PostgresSQL]) throws(PostgresError) -> [PostgresRows] {
        for sql in statements {
            try send(sql)
            pending.append(.result)
        }
        // Also in a transaction: only then does the server end it if this process falls silent. It would otherwise keep
        // its locks until the network reports the end.
        try requestEnd()
        let results = try readAll()
        guard results.count >= statements.count else { throw lost() }
        return Array(results.suffix(statements.count))
    }

    /// Runs the statements in the pipeline, and ends it, so that a failure has no effect on later statements.
    func sync() throws(PostgresError) {
        try requestEnd()
        _ = try readAll()
    }

    /// Calls ``sync()`` if there are statements in the pipeline.
    func syncIfNeeded() throws(PostgresError) { if !pending.isEmpty { try sync() } }

    /// Adds the statements of a script to the pipeline. They end with semicolons, which occur nowhere else but in comments.
    func runScript(_ script: String) throws(PostgresError) {
        let lines = script.split(separator: "\n").map { line in
            line.range(of: "--").map { line[..<$0.lowerBound] } ?? line
        }
        for statement in lines.joined(separator: "\n").split(separator: ";") {
            if !statement.allSatisfy(\.isWhitespace) { try runText(String(statement)) }
        }
    }

    /// Adds a statement to the pipeline that is not prepared. Its text contains no values from outside.
    package func runText(_ text: String) throws(PostgresError) {
        guard PQsendQueryParams(handle, text, 0, nil, nil, nil, nil, 1) == 1 else { throw lost() }
        pending.append(.result)
    }

    /// Lets the transaction end without its changes.
    func undo() throws(PostgresError) {
        // So that a failure is known as in a transaction that is committed.
        try syncIfNeeded()
        isUndone = true
    }

    /// The server and the database, for messages.
    var name: String { address.description }

    /// Runs a body in a transaction. If it throws, its changes are undone.
    package func transaction<Value>(
        _ body: (PostgresConnection) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        try run("BEGIN")
        isUndone = false
        do throws(PostgresError) {
            let value = try body(self)
            try commit()
            return value
        } catch {
            if !isLost { try? rollback() }
            throw error
        }
    }

    private func commit() throws(PostgresError) {
        guard !isUndone else {
            try run("ROLLBACK")
            return try sync()
        }
        do throws(PostgresError) {
            try run("COMMIT")
            try sync()
        } catch {
            // The server may have committed before the connection was lost.
            guard isLost else { throw error }
            var error = error
            error.isOutcomeUnknown = true
            throw error
        }
    }

    private func rollback() throws(PostgresError) {
        // After a failure, the pipeline ignores statements until its end.
        try syncIfNeeded()
        try run("ROLLBACK")
        try sync()
    }

    // MARK: The pipeline

    private func send(_ sql: PostgresSQL) throws(PostgresError) {
        let name = try prepared(sql.text, sql.parameters)
        let lengths = sql.parameters.map { Int32(clamping: $0.bytes?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: sql.parameters.count)
        let isSent = Self.withPointers(sql.parameters.map(\.bytes)) { values in
            PQsendQueryPrepared(handle, name, Int32(sql.parameters.count), values, lengths, formats, 1)
        }
        guard isSent == 1 else { throw lost() }
    }

    private func prepared(_ text: String, _ parameters: [PostgresSQL.Parameter]) throws(PostgresError) -> String {
        if let name = statements[text] { return name }
        lastStatement += 1
        let name = "d\(lastStatement)"
        let types = parameters.map(\.type.rawValue)
        guard PQsendPrepare(handle, name, text, Int32(types.count), types) == 1 else { throw lost() }
        statements[text] = name
        pending.append(.prepared(text))
        return name
    }

    /// Ends the pipeline. Outside of a transaction, its statements are committed.
    private func requestEnd() throws(PostgresError) {
        guard PQpipelineSync(handle) == 1 else { throw lost() }
        pending.append(.end)
    }

    /// Reads all answers.
    ///
    /// - Returns: the rows of each statement.
    /// - Throws: the failure of the first statement that failed.
    private func readAll() throws(PostgresError) -> [PostgresRows] {
        var rows: [PostgresRows] = []
        var failure: PostgresError?
        let answers = pending
        pending = []
        for answer in answers {
            let result = try nextResult()
            if case .end = answer {
                PQclear(result)
                continue
            }
            switch PQresultStatus(result) {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
                if case .result = answer { rows.append(PostgresRows(result)) } else { PQclear(result) }
            case PGRES_PIPELINE_ABORTED:
                // Not run, because an earlier statement failed.
                if case .prepared(let text) = answer { statements[text] = nil }
                PQclear(result)
            default:
                if case .prepared(let text) = answer { statements[text] = nil }
                failure = failure ?? PostgresError(result)
                PQclear(result)
            }
            try skipEnd()
        }
        if let failure { throw failure }
        return rows
    }

    private func nextResult() throws(PostgresError) -> OpaquePointer {
        try wait()
        guard let result = PQgetResult(handle) else { throw lost() }
        guard PQresultStatus(result) != PGRES_FATAL_ERROR || PQstatus(handle) == CONNECTION_OK else {
            let error = PostgresError(result)
            PQclear(result)
            isLost = true
            throw error.code == .unreachable ? error : lost()
        }
        return result
    }

    /// Reads the mark after the results of a statement.
    private func skipEnd() throws(PostgresError) {
        try wait()
        if let more = PQgetResult(handle) { PQclear(more) }
    }

    /// Sends what is to be sent, and waits for the next result.
    private func wait() throws(PostgresError) {
        while true {
            let unsent = PQflush(handle)
            guard unsent >= 0 else { throw lost() }
            if unsent == 0, PQisBusy(handle) == 0 { return }
            let events = Int16(POLLIN) | (unsent == 1 ? Int16(POLLOUT) : 0)
            var socket = pollfd(fd: PQsocket(handle), events: events, revents: 0)
            let left = deadline.milliseconds(since: .now)
            guard left > 0 else {
                isLost = true
                throw PostgresError(.late, "PostgreSQL at \(address) did not answer in time")
            }
            if poll(&socket, 1, Int32(clamping: left)) < 0, errno != EINTR { throw lost() }
            guard socket.revents == 0 || PQconsumeInput(handle) == 1 else { throw lost() }
        }
    }

    // MARK: Notifications

    /// The socket, for waiting for notifications; -1 if the connection was lost.
    var socket: Int32 { PQsocket(handle) }

    /// Reads the notifications that have arrived.
    ///
    /// - Returns: whether there were any.
    func takeNotifications() throws(PostgresError) -> Bool {
        guard PQconsumeInput(handle) == 1 else { throw lost() }
        var isNotified = false
        while let notification = PQnotifies(handle) {
            PQfreemem(notification)
            isNotified = true
        }
        return isNotified
    }

    // MARK: Failures

    /// Whether the connection can be used for another transaction.
    var isUsable: Bool {
        !isLost && PQstatus(handle) == CONNECTION_OK && pending.isEmpty && PQtransactionStatus(handle) == PQTRANS_IDLE
    }

    private func lost() -> PostgresError {
        isLost = true
        return PostgresError(.unreachable, "the connection to PostgreSQL at \(address) was lost")
    }

    private func connectionError() -> PostgresError {
        let text = String(cString: PQerrorMessage(handle)).trimmingCharacters(in: .whitespacesAndNewlines)
            .replacing("\n", with: " ")
        let isRefused = text.contains("authentication failed") || text.contains("no password supplied")
        return PostgresError(isRefused ? .notPermitted : .unreachable, address.redacted("PostgreSQL: \(text)"))
    }

    // MARK: Pointers

    /// Calls `body` with a list of C strings that ends with NULL.
    private static func withCStrings<Value>(
        _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>) -> Value
    ) -> Value {
        var copies = strings.map { UnsafePointer(strdup($0)) } + [nil]
        defer { for copy in copies { free(UnsafeMutablePointer(mutating: copy)) } }
        return copies.withUnsafeMutableBufferPointer { list in
            guard let start = list.baseAddress else { preconditionFailure("the list has its end") }
            return body(UnsafePointer(start))
        }
    }

    /// Calls `body` with the addresses of values, NULL for NULL.
    private static func withPointers<Value>(
        _ values: [[UInt8]?], _ body: ([UnsafePointer<CChar>?]) -> Value
    ) -> Value {
        // One allocation for all values, because most are a few bytes.
        let size = values.reduce(1) { $0 + ($1?.count ?? 0) }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: size) { buffer in
            guard var next = buffer.baseAddress else { preconditionFailure("the buffer is not empty") }
            let pointers = values.map { value -> UnsafePointer<CChar>? in
                guard let value else { return nil }
                value.withUnsafeBytes { bytes in
                    UnsafeMutableRawBufferPointer(start: next, count: bytes.count).copyMemory(from: bytes)
                }
                defer { next += value.count }
                return UnsafePointer(next)
            }
            return body(pointers)
        }
    }
}
#endif
