#if Postgres && canImport(CDiamondPostgres)
import Diamond

/// Beginning and finishing the attempts of jobs.
extension PostgresJobs {
    typealias Beginning = (claim: ReplayClaim, start: ReplayStart, owner: Int64)
    typealias Ending = (claim: ReplayClaim, report: ReplayReport)

    /// Whether an owner may still act: it has a row, and its lease has not ended.
    func isAlive(_ owner: Int64) throws(PostgresError) -> Bool { try alive([owner]).contains(owner) }

    private func alive(_ owners: [Int64]) throws(PostgresError) -> Set<Int64> {
        Set(
            try connection.rows(
                """
                SELECT id FROM owner WHERE id = ANY(\(owners)) AND lease_until > \(clock.sql)
                ORDER BY id FOR KEY SHARE
                """
            ).map { $0.int64("id") })
    }

    /// Checks jobs for the last time, and notes that their attempts begin.
    func begin(_ beginnings: [Beginning]) throws(PostgresError) -> [Bool] {
        let alive = try alive(beginnings.map(\.owner))
        let stored = try rows(beginnings.map(\.claim.id), isRunning: true)
        let isQueueHeld = try isQueueHeld()
        let holds = try holds(on: stored.values.map(\.row))
        var begun: [ReplayRow] = []
        var changes: [Change] = []
        let results = beginnings.map { (claim, start, owner) -> Bool in
            guard alive.contains(owner), var row = stored[claim.id]?.row, row.token == claim.token,
                row.state == .running
            else { return false }
            var verb = row.refuseBegin(start, by: owner, at: now)
            if verb == nil, !start.isUnderWay, isQueueHeld || holds.cover(row) {
                row.giveBack(at: now)
                verb = .fail
            }
            guard let verb else {
                row.begin(start, at: now)
                begun.append(row)
                return true
            }
            let isGivenBack = row.reason == .returned && verb == .fail
            row.updateState(at: now) { holds.cover($0) }
            if isGivenBack, row.state == .held { row.reason = .held }
            changes.append(
                Change(row: row, verb: isGivenBack && row.state == .held ? .hold : verb, old: .running))
            return false
        }
        try saveSending(begun)
        try save(changes)
        return results
    }

    /// Writes the outcomes of jobs.
    func finish(_ endings: [Ending]) throws(PostgresError) -> [ReplayState?] {
        let stored = try rows(endings.map(\.claim.id), isRunning: true)
        // Repeated calls, after a commit whose outcome was unknown, and those of owners that have lost their jobs.
        let others = endings.map(\.claim.id).filter { stored[$0]?.row.state != .running }
        let ended = others.isEmpty ? [:] : try rows(others)
        let holds = try holds(on: stored.values.map(\.row))
        var changes: [Change] = []
        var failures: [(id: Int64, failure: ReplayDraft.History.Failure)] = []
        var states: [ReplayState?] = []
        var finished: Set<Int64> = []
        for (claim, report) in endings {
            guard var row = stored[claim.id]?.row, row.state == .running, row.token == claim.token,
                finished.insert(claim.id).inserted
            else {
                let row = ended[claim.id]?.row
                states.append(row?.token == claim.token && row?.state.isEnd == true ? row?.state : nil)
                continue
            }
            let failure = try row.finish(report, at: now) { (code) throws(PostgresError) in
                try connection.rows("SELECT FROM attempt WHERE job = \(claim.id) AND code = \(code)").count > 0
            }
            if let failure { failures.append((claim.id, failure)) }
            row.updateState(at: now) { holds.cover($0) }
            changes.append(Change(row: row, verb: row.state == .done ? .finish : .fail, old: .running))
            states.append(row.state)
        }
        try save(changes)
        try add(failures)
        for (claim, report) in endings {
            guard let answer = report.answer, let row = changes.first(where: { $0.row.id == claim.id })?.row else {
                continue
            }
            try keep(answer, of: row)
        }
        return states
    }

    /// Stores the answer to a job that has ended, and puts the id in it into the requests that wait for it.
    private func keep(_ answer: ReplayAnswer, of row: ReplayRow) throws(PostgresError) {
        guard row.state.isEnd else { return }
        try connection.run(
            """
            UPDATE answer SET status = \(answer.statusCode), content = \(answer.content), received_at = \(now.rawValue)
            WHERE job = \(row.id)
            """)
        if row.state == .done, !row.creates.isEmpty { try assignID(in: answer, of: row) }
    }
}
#endif
