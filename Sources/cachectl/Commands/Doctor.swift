#if Tools
import ArgumentParser
import Diamond
import DiamondInspection
import Foundation

struct Doctor: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Checks the store's files and settings, and prints what to fix.",
        discussion: """
            Checks the cache and, if there is one, the queue. Changes nothing. Names a process that keeps others from \
            writing for a whole second. To check every entry, use verify. To see jobs in review, use 'queue list'. \
            Exits with 1 if something needs fixing, and with 4 if the cache or the queue cannot be opened.

            EXAMPLE
              cachectl doctor --app com.example.app
            """
    )

    @OptionGroup var place: PlaceOptions

    func run() throws {
        var diagnosis = CacheDiagnosis(of: place.location)
        var queue = ReplayDiagnosis(of: place.location)
        // `findWriter` needs this process to have closed the files.
        diagnosis.findWriter()
        queue?.findWriter()
        // A store with a queue needs no cache.
        if queue != nil, diagnosis.failure?.code == .noStore { diagnosis.failure = nil }
        let report = HealthReport(diagnosis, queue: queue)
        if place.json {
            Output.json(report)
        } else {
            for line in report.lines { Output.line(line.printable) }
        }
        guard diagnosis.failure == nil, queue?.failure == nil else { throw Failure.noStore }
        if !report.complaints.isEmpty { throw Failure.damaged }
    }
}

/// The output of `doctor`, as JSON and as text.
private struct HealthReport: Encodable {
    struct Problem: Encodable {
        var what: String
        var remedy: String
    }

    struct File: Encodable {
        var name: String
        var bytes: Int64
        /// The permissions in octal digits.
        var mode: String

        init(_ file: CacheDiagnosis.File) {
            name = file.name
            bytes = file.bytes
            mode = "0" + String(file.mode, radix: 8)
        }
    }

    struct Settings: Encodable {
        var schemaVersion: Int64
        /// The application id in hexadecimal digits.
        var applicationID: String
        var journalMode: String
        var autoVacuum: String
        var pageSize: Int64
        var pages: Int64
        var freePages: Int64
        var freePart: Double

        init(_ settings: CacheTable.Settings) {
            schemaVersion = settings.schemaVersion
            applicationID = "0x" + String(settings.applicationID, radix: 16)
            journalMode = settings.journalMode
            let modes: [Int64: String] = [0: "none", 1: "full", 2: "incremental"]
            autoVacuum = modes[settings.autoVacuum] ?? String(settings.autoVacuum)
            pageSize = settings.pageSize
            pages = settings.pages
            freePages = settings.freePages
            freePart = Double(freePages) / Double(max(1, pages))
        }
    }

    struct Queue: Encodable {
        var schemaVersion: Int64?
        var journalMode: String?
        var pages: Int64?
        var pageSize: Int64?
        var logPages: Int64
        var counts: CountsForm?
        /// The number of jobs that could have been sent for a minute, if no process sends any. Absent for none.
        var unsentJobs: Int?

        init(_ diagnosis: ReplayDiagnosis) {
            logPages = diagnosis.logPages
            schemaVersion = diagnosis.settings?.schemaVersion
            journalMode = diagnosis.settings?.journalMode
            pages = diagnosis.settings?.pages
            pageSize = diagnosis.settings?.pageSize
            counts = diagnosis.counts.isEmpty ? nil : CountsForm(diagnosis.counts)
            unsentJobs = diagnosis.unsentJobs > 0 ? diagnosis.unsentJobs : nil
        }
    }

    var version = Cachectl.configuration.version
    var sqliteVersion: String
    var sqliteOptions: [String]
    var store: String
    var directory: File?
    var files: [File]
    var setAside: [File]
    var settings: Settings?
    var usedBytes: Int64?
    var logPages: Int64
    var logThreshold = CacheDiagnosis.logThreshold
    var entries: Int?
    var bodyBytes: Int64?
    /// The names of the keys that seal the store. Absent if it is not sealed.
    var keyIDs: [String]?
    /// Absent if there is no queue.
    var queue: Queue?
    var complaints: [Problem]

    init(_ diagnosis: CacheDiagnosis, queue: ReplayDiagnosis?) {
        sqliteVersion = diagnosis.sqliteVersion
        sqliteOptions = diagnosis.sqliteOptions.filter { option in Self.options.contains { option.hasPrefix($0) } }
        store = diagnosis.store.directory.path
        directory = diagnosis.directory.map { File($0) }
        files = (diagnosis.files + (queue?.files ?? [])).map { File($0) }
        setAside = diagnosis.setAside.map { File($0) }
        settings = diagnosis.settings.map { Settings($0) }
        usedBytes = diagnosis.settings?.usedBytes
        logPages = diagnosis.logPages
        entries = diagnosis.totals?.entries
        bodyBytes = diagnosis.totals?.bodyBytes
        keyIDs = diagnosis.keyIDs.isEmpty ? nil : diagnosis.keyIDs
        self.queue = queue.map { Queue($0) }
        complaints = (diagnosis.problems + (queue?.problems ?? [])).map {
            Problem(what: $0.what, remedy: $0.remedy)
        }
    }

    /// The options of SQLite that matter to a store.
    private static let options = ["SECURE_DELETE", "THREADSAFE=", "MAX_MMAP_SIZE=", "DIRECT_OVERFLOW_READ", "OMIT_WAL"]
}

extension HealthReport {
    var lines: [String] {
        let options = sqliteOptions.isEmpty ? "" : " (\(sqliteOptions.joined(separator: ", ")))"
        return [
            "diamond   \(version)\(settings.map { ", schema \($0.schemaVersion)" } ?? "")",
            "sqlite    \(sqliteVersion)\(options)",
            "store     \(store)\(directory.map { " (\($0.mode))" } ?? "")",
        ] + files.map { "file      \($0.name) (\($0.mode)), \(Quantity.bytes($0.bytes))" } + contents + queued
            + setAside.map { "aside     \($0.name), \(Quantity.bytes($0.bytes))" }
            + (complaints.isEmpty ? ["healthy"] : complaints.map { "! \($0.what): \($0.remedy)" })
    }

    private var queued: [String] {
        guard let queue, let version = queue.schemaVersion, let counts = queue.counts else { return [] }
        let pages = "\(queue.pages ?? 0) pages of \(Quantity.bytes(queue.pageSize ?? 0))"
        return [
            "queue     schema \(version), \(pages), journal_mode \(queue.journalMode ?? "")",
            "jobs      \(counts.text)",
        ] + unsent + (queue.logPages > 0 ? [log(queue.logPages)] : [])
    }

    private var unsent: [String] {
        guard let count = queue?.unsentJobs else { return [] }
        return ["unsent    \(count), which no process sends now: run the program, or 'cachectl queue replay'"]
    }

    private func log(_ pages: Int64) -> String {
        "log       \(pages) pages, which a copy of replay.sqlite may lack: copy jobs with 'cachectl queue export'"
    }

    private var contents: [String] {
        guard let settings, let usedBytes else { return [] }
        let pages = "\(settings.pages) of \(Quantity.bytes(settings.pageSize)), \(settings.freePages) free"
        let part = settings.pages > 0 ? " (\(settings.freePages * 100 / settings.pages) %)" : ""
        let modes = "journal_mode \(settings.journalMode), auto_vacuum \(settings.autoVacuum)"
        let held = entries.map { ["entries   \($0), bodies \(Quantity.bytes(bodyBytes ?? 0))"] } ?? []
        return [
            "pages     \(pages)\(part)",
            "log       \(logPages) pages; checkpointed from \(logThreshold) pages on",
            "settings  \(modes), application_id \(settings.applicationID)",
            "used      \(Quantity.bytes(usedBytes)) (each program sets its own limit)",
        ] + held + (keyIDs.map { ["sealed    with \($0.map { "'\($0)'" }.joined(separator: ", "))"] } ?? [])
    }
}
#endif
