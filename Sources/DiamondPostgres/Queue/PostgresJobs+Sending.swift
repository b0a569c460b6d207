#if Postgres && canImport(CDiamondPostgres)
import Diamond

/// Beginning and finishing the attempts of jobs.
extension PostgresJobs {
    typealias Beginning = (claim: ReplayClaim, start: ReplayStart, owner: Int64)
    typealias Ending = (claim: ReplayClaim, report: ReplayReport)

    /// Checks jobs for the last time, and notes that their attempts begin.
    func begin(_ beginnings: [Beginning]) throws(PostgresError) -> [Bool] {
        let found = try sendingFacts(of: beginnings.map(\.claim.id), owners: beginnings.map(\.owner))
        let isQueueHeld = found.holds.coverQueue
        var begun: [ReplayRow] = []
        var changes: [Change] = []
        let results = beginnings.map { (claim, start, owner) -> Bool in
            guard found.owners.contains(owner), var row = found.rows[claim.id], row.token == claim.token,
                row.state == .running
            else { return false }
            var verb = row.refuseBegin(start, by: owner, at: now)
            if verb == nil, !start.isUnderWay, isQueueHeld || found.holds.cover(row) {
                row.giveBack(at: now)
                verb = .fail
            }
            guard let verb else {
                row.begin(start, at: now)
                begun.append(row)
                return true
            }
            let transition = row.updateState(after: verb, at: now) { found.holds.cover($0) }
            changes.append(Change(row: row, verb: transition, old: .running))
            return false
        }
        try saveSending(begun)
        try save(changes)
        return results
    }

    /// Writes the outcomes of jobs.
    func finish(_ endings: [Ending]) throws(PostgresError) -> [ReplayState?] {
        let found = try sendingFacts(of: endings.map(\.claim.id))
        // Repeated calls, after a commit whose outcome was unknown, and those of owners that have lost their jobs.
        let others = endings.map(\.claim.id).filter { found.rows[$0]?.state != .running }
        let ended = others.isEmpty ? [:] : try rows(others)
        var changes: [Change] = []
        var failures: [(id: Int64, failure: ReplayDraft.History.Failure)] = []
        var states: [ReplayState?] = []
        var finished: Set<Int64> = []
        for (claim, report) in endings {
            guard var row = found.rows[claim.id], row.state == .running, row.token == claim.token,
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
            row.updateState(at: now) { found.holds.cover($0) }
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
