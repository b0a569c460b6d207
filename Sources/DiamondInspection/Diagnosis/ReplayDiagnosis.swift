package import Diamond
import DiamondSQLite
import DiamondSchema
import Foundation

/// The state of a store's queue: its files, its settings, and whether its records contradict each other. Reading it
/// changes nothing.
package struct ReplayDiagnosis: Sendable {
    package let store: Store
    /// The existing files of the database, its write-ahead log and the log's index.
    package var files: [CacheDiagnosis.File]
    /// The file's settings; `nil` if the file cannot be read.
    package var settings: ReplayTable.Settings?
    /// The errors that SQLite's integrity check finds, at most 10 lines.
    package var integrityErrors: [String] = []
    package var counts: [ReplayState: Int] = [:]
    package var inconsistencies = ReplayTable.Inconsistencies()
    /// The damaged jobs that are not discarded.
    package var damagedJobs: [ReplayJob.ID] = []
    /// The number of jobs with impossible times: they wait for too long, or were added or changed in the future.
    package var untimelyJobs = 0
    /// The number of jobs that could have been sent for a minute, if no process sends any; 0 otherwise.
    package var unsentJobs = 0
    /// The milliseconds by which the wall clock is ahead of the queue's time; 0 if the clock was not changed.
    package var lead: Int64 = 0
    private let clockReading: QueueClock.Reading
    /// The process that keeps others from writing, if ``findWriter()`` has found one.
    package var writer: WriteLock?
    /// The error that keeps programs from using the queue; `nil` if they can use it.
    package var failure: ReplayError?

    /// Reads the state of a store's queue; `nil` if the store has no queue.
    package init?(of store: Store) { self.init(of: store, clock: .system) }

    init?(of store: Store, clock: ReplayClock) {
        self.store = store
        clockReading = clock.reading
        files = .all(of: store.replayPath, named: "replay.sqlite")
        do throws(ReplayError) {
            guard try store.hasQueue() else { return nil }
            try read()
        } catch {
            failure = error
        }
    }

    /// Looks for a process that holds the write lock for a whole second. This process must not have the file open.
    package mutating func findWriter() { writer = WriteLock.lasting(of: store.replayPath) }

    /// The pages in the log, which a copy of the file alone may lack.
    package var logPages: Int64 { files.logPages(of: settings?.pageSize) }

    private mutating func read() throws(ReplayError) {
        do throws(SQLiteError) {
            self = try SQLiteDatabase.inspect(at: store.replayPath, configuration: store.replaySchema) {
                (connection) throws(SQLiteError) in
                var diagnosis = self
                try diagnosis.read(connection)
                return diagnosis
            }
        } catch {
            throw ReplayError(error)
        }
    }

    private mutating func read(_ connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let settings = try ReplayTable.settings(on: connection)
        self.settings = settings
        failure = settings.failure(store.replayPath)
        guard failure == nil, settings.isCurrent else { return }
        integrityErrors = try ReplayTable.integrityErrors(on: connection)
        // The records of a damaged file may contradict each other.
        guard integrityErrors.isEmpty else { return }
        counts = try ReplayTable.stateCounts(on: connection)
        inconsistencies = try ReplayTable.inconsistencies(on: connection)
        let record = try ReplayTable.queueClock(on: connection)?.updated(by: clockReading) ?? QueueClock(clockReading)
        let moment = record.moment(at: clockReading)
        lead = moment.lead
        untimelyJobs = try ReplayTable.untimely(at: moment.time, on: connection)
        unsentJobs = try ReplayTable.unsentCount(at: moment.time, uptime: clockReading.uptime, on: connection)
        damagedJobs = try ReplayTable.damages(on: connection).findings.compactMap(\.id)
    }
}

extension ReplayTable.Settings {
    /// Whether the file has the schema version of this program.
    fileprivate var isCurrent: Bool {
        applicationID == DiamondSchema.replay.applicationID && schemaVersion == DiamondSchema.replay.migrations.count
    }

    /// Returns the error that keeps programs from using the file. An empty or older file gives none: the next program
    /// that opens it migrates it.
    fileprivate func failure(_ path: String) -> ReplayError? {
        let schema = DiamondSchema.replay
        guard applicationID == schema.applicationID || (applicationID == 0 && pages <= 1) else {
            return ReplayError(SQLiteError(.foreignFile, "belongs to another program", path: path))
        }
        return schema.refusal(of: schemaVersion, path: path).map { ReplayError($0) }
    }
}

extension ReplayDiagnosis {
    /// The problems found in what was read, the worst first.
    package var problems: [CacheDiagnosis.Problem] {
        (failure.map { [.init(what: "the queue cannot be used", remedy: $0.message)] } ?? [])
            + integrityErrors.map {
                .init(what: "\(store.replayPath) is damaged: \($0)", remedy: ReplayError.remedyOfDamage)
            }
            + (writer.map { [$0.problem] } ?? []) + permissions + settingsProblems + inconsistencies.problems
            + jobProblems + timeProblems
    }

    private var jobProblems: [CacheDiagnosis.Problem] {
        guard let first = damagedJobs.first else { return [] }
        let what = "the queue has damaged jobs, which are not sent: \(damagedJobs.count), the first is job \(first)"
        let remedy = "'cachectl verify' names them; 'cachectl queue discard' them, and add them again"
        return [.init(what: what, remedy: remedy)]
    }

    private var timeProblems: [CacheDiagnosis.Problem] {
        guard untimelyJobs > 0 else { return [] }
        let what = "the queue has jobs with impossible times in the future: \(untimelyJobs)"
        return [.init(what: what, remedy: "check the clock; 'cachectl queue retry' makes them ready now")]
    }

    private var permissions: [CacheDiagnosis.Problem] {
        files.compactMap {
            $0.permissionProblem(at: store.replayDirectory.appendingPathComponent($0.name).path, right: 0o600)
        }
    }

    private var settingsProblems: [CacheDiagnosis.Problem] {
        guard let settings, failure == nil else { return [] }
        guard settings.isCurrent else {
            return [
                .init(
                    what: "the queue's schema has version \(settings.schemaVersion), "
                        + "not \(DiamondSchema.replay.migrations.count)",
                    remedy: "'cachectl queue list' migrates it, as any program does")
            ]
        }
        guard settings.journalMode != "wal" else { return [] }
        return [
            .init(
                what: "the queue's journal mode is \(settings.journalMode), not wal: readers wait for writers",
                remedy: "'cachectl queue list' sets it, as any program does")
        ]
    }
}

extension ReplayTable.Inconsistencies {
    fileprivate var problems: [CacheDiagnosis.Problem] {
        func problem(_ count: Int, _ what: String, remedy: String) -> CacheDiagnosis.Problem? {
            count > 0 ? CacheDiagnosis.Problem(what: "the queue has \(what): \(count)", remedy: remedy) : nil
        }
        return [
            problem(census, "states with a wrong number of jobs", remedy: Self.move),
            problem(heads, "ordering keys with a wrong first job", remedy: Self.move),
            problem(payloads, "jobs without a request", remedy: Self.discard),
            problem(owners, "running jobs without an owner", remedy: Self.move),
        ].compactMap(\.self)
    }

    // The order matters: jobs added or sent after an export would be lost, or sent twice.
    private static let move = """
        end the programs that use the store, run 'cachectl queue export', move replay.sqlite* away, and import the \
        export; dead jobs, jobs in review, and holds on keys, identities, lanes or the queue are not imported
        """

    private static let discard =
        "'cachectl queue discard' them: their lines of 'cachectl queue export' have no \"request\""
}
