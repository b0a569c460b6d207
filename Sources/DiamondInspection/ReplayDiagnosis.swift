package import Diamond
import DiamondSQLite
import DiamondSchema
import Foundation

/// The state of a store's queue: its files, its settings, whether its records of its jobs agree. Asking changes
/// nothing.
package struct ReplayDiagnosis: Sendable {
    package let store: Store
    /// Database, log and index, as far as they are there.
    package var files: [CacheDiagnosis.File]
    /// `nil` where the file cannot be read.
    package var settings: ReplayTable.Settings?
    /// The faults that SQLite's own check finds, at most 10 lines.
    package var damages: [String] = []
    package var counts: [ReplayState: Int] = [:]
    package var discord = ReplayTable.Discord()
    /// Jobs that are not what was written, and were not given up.
    package var damagedJobs: [ReplayJob.ID] = []
    /// Jobs whose times no rule makes: they wait for too long, or were added or changed in the future.
    package var untimelyJobs = 0
    /// By how much the wall clock is ahead of the queue's time; milliseconds, 0 where it was not set.
    package var lead: Int64 = 0
    private let clockReading: QueueClock.Reading
    /// The process that keeps others from writing, if ``findWriter()`` has found one.
    package var writer: WriteLock?
    /// Why the queue cannot be used.
    package var failure: ReplayError?

    /// `nil` where the store has no queue.
    package init?(of store: Store) { self.init(of: store, clock: .system) }

    init?(of store: Store, clock: ReplayClock) {
        (self.store, clockReading) = (store, clock.reading)
        files = ["", "-wal", "-shm"].compactMap {
            CacheDiagnosis.File(store.replayPath + $0, name: "replay.sqlite\($0)")
        }
        do throws(ReplayError) {
            guard try store.hasQueue() else { return nil }
            try inspect()
        } catch {
            failure = error
        }
    }

    /// Looks for a process that keeps others from writing, for a second. Only for a process that does not have the file
    /// open.
    package mutating func findWriter() { writer = WriteLock.lasting(of: store.replayPath) }

    /// The pages in the log, which a copy of the file alone may lack.
    package var logPages: Int64 {
        let bytes = files.first { $0.name.hasSuffix("-wal") }?.bytes ?? 0
        return settings.map { max(0, bytes - 32) / ($0.pageSize + 24) } ?? 0
    }

    private mutating func inspect() throws(ReplayError) {
        do throws(SQLiteError) { try read() } catch { throw ReplayError(error) }
    }

    private mutating func read() throws(SQLiteError) {
        self = try SQLiteDatabase.look(at: store.replayPath, store.replaySchema) { (connection) throws(SQLiteError) in
            var diagnosis = self
            try diagnosis.read(connection)
            return diagnosis
        }
    }

    private mutating func read(_ connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let settings = try ReplayTable.settings(on: connection)
        self.settings = settings
        failure = settings.failure(store.replayPath)
        guard failure == nil, settings.isCurrent else { return }
        damages = try ReplayTable.damages(on: connection)
        // What is damaged agrees with nothing.
        guard damages.isEmpty else { return }
        counts = try ReplayTable.stateCounts(on: connection)
        discord = try ReplayTable.discord(on: connection)
        let record = try ReplayTable.queueClock(on: connection)?.updated(by: clockReading) ?? QueueClock(clockReading)
        let moment = QueueTime.Moment(record, at: clockReading)
        lead = moment.lead
        untimelyJobs = try ReplayTable.untimely(at: moment.time, on: connection)
        damagedJobs = try ReplayInspection(jobsOn: connection).findings.compactMap(\.id)
    }
}

extension ReplayTable.Settings {
    /// Written by a program that knows the schema this one knows.
    fileprivate var isCurrent: Bool {
        applicationID == DiamondSchema.replay.applicationID && schemaVersion == DiamondSchema.replay.migrations.count
    }

    /// Why a program cannot use the file. One that is empty still, or older, is brought up to date by the next.
    fileprivate func failure(_ path: String) -> ReplayError? {
        let schema = DiamondSchema.replay
        guard applicationID == schema.applicationID || (applicationID == 0 && pages <= 1) else {
            return ReplayError(SQLiteError(.foreignFile, "belongs to another program", path: path))
        }
        return schema.refusal(of: schemaVersion, path).map { ReplayError($0) }
    }
}

extension ReplayDiagnosis {
    /// Judged by what was read, the worst first.
    package var complaints: [CacheDiagnosis.Complaint] {
        (failure.map { [.init(what: "the queue cannot be used", remedy: $0.message)] } ?? [])
            + damages.map { .init(what: "\(store.replayPath) is damaged: \($0)", remedy: ReplayError.remedyOfDamage) }
            + (writer.map { [$0.complaint] } ?? []) + permissions + settingsComplaints + discord.complaints
            + jobComplaints + timeComplaints
    }

    private var jobComplaints: [CacheDiagnosis.Complaint] {
        guard let first = damagedJobs.first else { return [] }
        let count = ReplayTable.Discord.text(damagedJobs.count, "job")
        let what = "\(count) of the queue are damaged, from \(first) on, and are not sent"
        let remedy = "'cachectl verify' names them; 'cachectl queue discard' them, and add them again"
        return [.init(what: what, remedy: remedy)]
    }

    private var timeComplaints: [CacheDiagnosis.Complaint] {
        guard untimelyJobs > 0 else { return [] }
        let what =
            "\(ReplayTable.Discord.text(untimelyJobs, "job")) of the queue have times in the future that no rule makes"
        return [.init(what: what, remedy: "see that the clock is right; 'cachectl queue retry' sends them now")]
    }

    private var permissions: [CacheDiagnosis.Complaint] {
        files.filter { $0.mode != 0o600 }.map { file in
            let path = store.replayDirectory.appendingPathComponent(file.name).path
            return .init(
                what: "\(path) has the permissions 0\(String(file.mode, radix: 8)), not 0600",
                remedy: "chmod 600 \(path.shellWord)")
        }
    }

    private var settingsComplaints: [CacheDiagnosis.Complaint] {
        guard let settings, failure == nil else { return [] }
        guard settings.isCurrent else {
            return [
                .init(
                    what: "the queue's schema is of version \(settings.schemaVersion), "
                        + "not \(DiamondSchema.replay.migrations.count)",
                    remedy: "'cachectl queue list' brings it up to date, as any program does")
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

extension ReplayTable.Discord {
    fileprivate var complaints: [CacheDiagnosis.Complaint] {
        let found = [
            (census, "the counts of the queue's jobs are wrong in \(Self.text(census, "state"))", Self.move),
            (heads, "\(Self.text(heads, "ordering key")) of the queue lack their right first job", Self.move),
            (payloads, "\(Self.text(payloads, "job")) of the queue have no request", Self.discard),
            (owners, "\(Self.text(owners, "job")) of the queue run, and nobody runs them", Self.move),
        ]
        return found.filter { $0.0 > 0 }.map { .init(what: $0.1, remedy: $0.2) }
    }

    fileprivate static func text(_ count: Int, _ noun: String) -> String {
        count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
    }

    // In this order: what is added or sent behind an export would be lost, or sent twice.
    private static let move = """
        end the programs that use the store, run 'cachectl queue export', move replay.sqlite* away, and import what was \
        exported; what is dead or in review, and what is held by name, is not taken over
        """

    private static let discard =
        "'cachectl queue discard' them: their lines of 'cachectl queue export' have no \"request\""
}
