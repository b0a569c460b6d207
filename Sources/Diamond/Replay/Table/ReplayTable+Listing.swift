import DiamondSQLite
import Foundation

/// Reading jobs for display.
extension ReplayTable {
    static let columns: SQL = """
        id, state, reason, method, url, host, identity, ordering_key, is_strict, is_head, is_held, priority, lane, tags,
        metadata, kind, enqueued_at, changed_at, run_at, expires_at, attempts, attempt_limit, sent_at, unknown_at,
        idempotency_key, status, token,
        CASE WHEN kind IS NOT NULL THEN (SELECT call FROM payload WHERE job = job.id) END AS call, details,
        CASE WHEN reason IN ('awaitingID', 'creationFailed') THEN (SELECT group_concat(id) FROM (
            SELECT max(other.id) AS id FROM edge JOIN job AS other ON other.creates = edge.name AND other.creates <> ''
            WHERE edge.job = job.id GROUP BY edge.name)) END AS awaited_jobs
        """

    /// The names of ``columns``, and a column that is read for answered jobs only.
    enum Column: Int, SQLiteColumns {
        case id, state, reason, method, url, host, identity, orderingKey, isStrict, isHead, isHeld, priority, lane
        case tags, metadata, kind, enqueuedAt, changedAt, runAt, expiresAt, attempts, attemptLimit, sentAt, unknownAt
        case idempotencyKey, status, token, call, details, awaitedJobs
        case isTaken
    }

    static func job(
        _ id: Int64, at moment: ReplayMoment, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> ReplayJob? {
        try connection.first("SELECT \(sql: columns) FROM job WHERE id = \(id)", columns: Column.self) {
            (row) throws(SQLiteError) in try ReplayJob(row, at: moment, on: connection)
        }
    }

    /// Returns the jobs that match a filter, in the order of their ids.
    static func jobs(
        _ filter: ReplayFilter,
        after id: Int64,
        limit: Int,
        at moment: ReplayMoment,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [ReplayJob] {
        let page = try page(of: filter, after: id, limit: limit, at: moment, on: connection)
        let statement = try connection.statement(
            once: "SELECT \(sql: columns) FROM job WHERE id IN (\(sql: page)) ORDER BY id", columns: Column.self)
        return try statement.rows { (row) throws(SQLiteError) in try ReplayJob(row, at: moment, on: connection) }
    }

    static func count(
        _ filter: ReplayFilter,
        at moment: ReplayMoment,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Int {
        let statement = try connection.statement(
            once: "SELECT count(*) FROM job WHERE \(sql: filter.condition(at: moment, on: connection))")
        return try statement.step() ? Int(statement.int64(0)) : 0
    }

    enum FailureColumn: Int, SQLiteColumns { case number, startedAt, endedAt, code, message, details }

    static func failures(
        of id: Int64,
        at moment: ReplayMoment,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [ReplayFailure] {
        let sealing = connection.sealing
        return try connection.rows(
            "SELECT number, started_at, ended_at, code, message, details FROM attempt WHERE job = \(id) ORDER BY id",
            columns: FailureColumn.self
        ) { (row) throws(SQLiteError) in
            let code = row.text(FailureColumn.code)
            var message = row.text(FailureColumn.message)
            if let sealing {
                let opened = try sealing.opened(row.data(FailureColumn.details), .failure, of: "\(id) \(code)")
                message = opened.map { String(decoding: $0, as: UTF8.self) } ?? "•••"
            }
            return ReplayFailure(
                number: Int(row.int64(FailureColumn.number)),
                startedAt: moment.date(of: row.time(FailureColumn.startedAt)),
                endedAt: moment.date(of: row.time(FailureColumn.endedAt)), code: code, message: message)
        }
    }

    static func lastID(on connection: borrowing SQLiteConnection) throws(SQLiteError) -> ReplayJob.ID {
        try connection.integer("SELECT ifnull(max(id), 0) FROM job")
    }

    /// The SQL condition for the jobs without an identity, and of those that have not signed out.
    static let isSignedIn: SQL = """
        NOT EXISTS (SELECT 1 FROM hold WHERE kind = 'identity' AND hold.name = job.identity AND is_sign_out = 1)
        """

    /// The head of an ordering key, and the number of its jobs.
    struct KeyHead {
        /// The id of the head.
        var head: Int64
        var count: Int
    }

    /// Returns the heads of ordering keys, and the number of jobs of each.
    ///
    /// - Parameters:
    ///   - onlyBlocked: whether to return only keys whose head is held, dead or in review.
    ///   - includesSignedOut: whether to return keys whose head belongs to an identity that has signed out.
    static func keyHeads(
        limit: Int,
        onlyBlocked: Bool,
        includesSignedOut: Bool,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [KeyHead] {
        let statement = try connection.statement(
            """
            SELECT head.id, (SELECT count(*) FROM job WHERE ordering_key = head.ordering_key AND ordering_key IS NOT NULL
                AND (state < 4 OR (is_strict = 1 AND state > 4)))
            FROM job AS head INDEXED BY job_head WHERE head.ordering_key IS NOT NULL AND head.is_head = 1
                AND (\(onlyBlocked) = 0 OR head.state IN (3, 5, 6)) AND (\(includesSignedOut) = 1 OR NOT EXISTS (
                    SELECT 1 FROM hold WHERE kind = 'identity' AND hold.name = head.identity AND is_sign_out = 1))
            ORDER BY head.ordering_key LIMIT \(limit)
            """
        )
        return try statement.rows { KeyHead(head: $0.int64(0), count: Int($0.int64(1))) }
    }

    /// The number of transitions of one kind in one hour.
    struct HourRow {
        /// The hours since 1970.
        var hour: Int64
        var verb: String
        var count: Int
    }

    /// Returns the count of each verb in each hour since an hour, in order. A count out of range, as in a damaged row,
    /// is limited to a number that can be added without overflow; so is an hour.
    static func hours(
        since hour: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [HourRow] {
        let statement = try connection.statement(
            "SELECT hour, verb, max(0, min(count, 1 << 40)) FROM hour WHERE hour >= \(hour) ORDER BY hour, verb")
        return try statement.rows { row in
            HourRow(
                hour: row.int64(0).clamped(to: ReplayRow.sensible), verb: row.text(1), count: Int(row.int64(2)))
        }
    }
}

extension ReplayFilter {
    /// Returns the SQL condition of the filter.
    func condition(at moment: ReplayMoment, on connection: borrowing SQLiteConnection) -> SQL {
        var condition: SQL = "TRUE"
        if !states.isEmpty {
            // As literals, which partial indexes need.
            let numbers = states.sorted { $0.rawValue < $1.rawValue }.map(\.literal)
            condition.append(" AND state IN (\(sql: numbers.joined(by: ", ")))")
        }
        if let orderingKey { condition.append(" AND ordering_key = \(connection.stored(orderingKey, .key))") }
        if let identity { condition.append(" AND identity = \(connection.stored(identity, .identity))") }
        if let host { condition.append(" AND host = \(connection.stored(host.lowercased(), .host))") }
        if let tag {
            let name = connection.stored(tag, .tag)
            condition.append(" AND EXISTS (SELECT 1 FROM json_each(tags) WHERE value = \(name))")
        }
        if let lane { condition.append(" AND lane = \(lane.name)") }
        if let enqueuedBefore {
            condition.append(" AND enqueued_at < \(moment.time(of: enqueuedBefore))")
        }
        if identity == nil, !includesSignedOut { condition.append(" AND \(sql: ReplayTable.isSignedIn)") }
        return condition
    }
}

extension ReplayState {
    /// The number in SQL.
    fileprivate var literal: SQL {
        switch self {
        case .ready: "0"
        case .waiting: "1"
        case .running: "2"
        case .held: "3"
        case .done: "4"
        case .dead: "5"
        case .needsReview: "6"
        }
    }
}

extension ReplayJob {
    private typealias Column = ReplayTable.Column

    /// - Parameter moment: converts the times of the row to the wall clock.
    /// - Throws: the error `cannotSeal` if the details cannot be opened now. Those that are not authentic, or have an
    ///   unknown key, are masked.
    init(
        _ row: borrowing SQLiteStatement, at moment: ReplayMoment, on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let details: ReplayDetails
        if let sealing = connection.sealing {
            details = try sealing.details(
                row.optionalData(Column.details), of: row.int64(Column.id))
        } else {
            details = ReplayDetails(row)
        }
        id = row.int64(Column.id)
        state = ReplayState(rawValue: Int(row.int64(Column.state))) ?? .held
        reason = ReplayReason(description: row.text(Column.reason))
        method = row.text(Column.method)
        url = details.url
        host = details.host
        identity = details.identity
        orderingKey = details.orderingKey
        order = row.int64(Column.isStrict) != 0 ? .strict : .ordered
        isHead = row.int64(Column.isHead) != 0
        isHeld = row.int64(Column.isHeld) != 0
        priority = Int(row.int64(Column.priority))
        lane = row.text(Column.lane)
        tags = details.tagNames
        metadata = details.metadataMembers
        kind = details.kind
        enqueuedAt = moment.date(of: row.time(Column.enqueuedAt))
        transitionTime = row.time(Column.changedAt)
        changedAt = moment.date(of: transitionTime)
        runAt = moment.date(of: row.time(Column.runAt))
        expiresAt = row.optionalTime(Column.expiresAt).map { moment.date(of: $0) }
        attempts = Int(row.int64(Column.attempts))
        attemptLimit = Int(row.int64(Column.attemptLimit))
        sentAt = row.optionalTime(Column.sentAt).map { moment.date(of: $0) }
        unknownSince = row.optionalTime(Column.unknownAt).map { moment.date(of: $0) }
        idempotencyKey = details.idempotencyKey
        status = row.optional(Column.status).map(Int.init)
        token = row.int64(Column.token)
        storedCall = details.call
        awaitedJobs = row.text(Column.awaitedJobs).split(separator: ",").compactMap { Int64($0) }.sorted()
    }
}

extension ReplayDetails {
    private typealias Column = ReplayTable.Column

    /// Reads the details of a row in clear from ``ReplayTable/columns``.
    fileprivate init(_ row: borrowing SQLiteStatement) {
        url = row.text(Column.url)
        host = row.text(Column.host)
        identity = row.optionalText(Column.identity)
        orderingKey = row.optionalText(Column.orderingKey)
        tags = row.text(Column.tags)
        metadata = row.text(Column.metadata)
        kind = row.optionalText(Column.kind)
        idempotencyKey = row.optionalText(Column.idempotencyKey)
        call = row.optionalText(Column.call)
    }
}
