#if Tools
import ArgumentParser
import Diamond
import DiamondInspection
import Foundation

struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Checks the store's files and settings, and prints what to fix.",
        discussion: """
            Checks the cache and, if there is one, the queue. Changes nothing. Names a process that keeps others from \
            writing for a whole second. To check every entry, use verify. To see jobs in review, use 'queue list'. \
            Exits with 1 if something needs fixing, and with 4 if the cache or the queue cannot be opened. Of a server, \
            checks whether it answers, and every job.

            EXAMPLE
              cachectl doctor --app com.example.app
            """
    )

    @OptionGroup var options: StoreChoiceOptions

    @OptionGroup var cacheServer: ServerOption<CacheServer>
    @OptionGroup var queueServer: QueueServerOption

    func run() async throws {
        let place = options.place
        let places = try Place.examined(
            cache: cacheServer.place(besides: place), queue: queueServer.place(besides: place), store: place)
        var diagnosis = places.cache?.store.map { CacheDiagnosis(of: $0) }
        var queue = places.queue?.store.flatMap { ReplayDiagnosis(of: $0) }
        // `findWriter` needs this process to have closed the files.
        diagnosis?.findWriter()
        queue?.findWriter()
        // A store with a queue needs no cache.
        let hasQueue = queue != nil || places.queue?.server != nil
        if hasQueue, diagnosis?.failure?.code == .noStore { diagnosis?.failure = nil }
        var servers: [ServerHealth] = []
        if let url = places.cache?.server { servers.append(try ServerHealth(ofCache: url)) }
        if let url = places.queue?.server { servers.append(try await ServerHealth(ofQueue: url)) }
        let report = HealthReport(diagnosis: diagnosis, queue: queue, servers: servers)
        if options.json {
            Output.json(report.form)
        } else {
            for line in report.lines { Output.line(line.printable) }
        }
        guard diagnosis?.failure == nil, queue?.failure == nil, !servers.contains(where: \.isUnusable) else {
            throw Failure.noStore
        }
        if !report.problems.isEmpty { throw Failure.damaged }
    }
}

/// The output of `doctor`, as JSON and as text.
private struct HealthReport {
    let diagnosis: CacheDiagnosis?
    let queue: ReplayDiagnosis?
    let servers: [ServerHealth]

    private var version: String { Cachectl.configuration.version }

    var problems: [CacheDiagnosis.Problem] {
        (diagnosis?.problems ?? []) + (queue?.problems ?? []) + servers.flatMap(\.problems)
    }

    private var files: [CacheDiagnosis.File] { (diagnosis?.files ?? []) + (queue?.files ?? []) }

    private var sqliteOptions: [String] {
        (diagnosis?.sqliteOptions ?? []).filter { option in Self.options.contains { option.hasPrefix($0) } }
    }

    /// The build options that change how the cache works.
    private static let options = ["SECURE_DELETE", "THREADSAFE=", "MAX_MMAP_SIZE=", "DIRECT_OVERFLOW_READ", "OMIT_WAL"]

    var form: JSONObject {
        [
            "version": version, "sqliteVersion": diagnosis?.sqliteVersion, "sqliteOptions": sqliteOptions,
            "store": diagnosis?.store.directory.path, "directory": diagnosis?.directory?.form,
            "files": files.map(\.form), "setAside": (diagnosis?.setAside ?? []).map(\.form),
            "settings": diagnosis?.settings?.form, "usedBytes": diagnosis?.settings?.usedBytes,
            "logPages": diagnosis?.logPages, "logThreshold": CacheDiagnosis.logThreshold,
            "entries": diagnosis?.totals?.entries, "bodyBytes": diagnosis?.totals?.bodyBytes, "keyIDs": keyIDs,
            "queue": queue?.form, "servers": servers.isEmpty ? nil : servers.map(\.form),
            "complaints": problems.map { ["what": $0.what, "remedy": $0.remedy] },
        ]
    }

    private var keyIDs: [String]? { diagnosis.flatMap { $0.keyIDs.isEmpty ? nil : $0.keyIDs } }
}

extension CacheDiagnosis.File {
    /// The permissions in octal digits.
    fileprivate var permissions: String { "0" + String(mode, radix: 8) }

    fileprivate var line: String { "file      \(name) (\(permissions)), \(Quantity.bytes(bytes))" }

    fileprivate var form: JSONObject { ["name": name, "bytes": bytes, "mode": permissions] }
}

extension CacheTable.Settings {
    fileprivate var hexadecimalID: String { "0x" + String(applicationID, radix: 16) }

    fileprivate var autoVacuumMode: String {
        let modes: [Int64: String] = [0: "none", 1: "full", 2: "incremental"]
        return modes[autoVacuum] ?? String(autoVacuum)
    }

    fileprivate var form: JSONObject {
        [
            "schemaVersion": schemaVersion, "applicationID": hexadecimalID, "journalMode": journalMode,
            "autoVacuum": autoVacuumMode, "pageSize": pageSize, "pages": pages, "freePages": freePages,
            "freePart": Double(freePages) / Double(max(1, pages)),
        ]
    }
}

extension ReplayDiagnosis {
    fileprivate var form: JSONObject {
        [
            "schemaVersion": settings?.schemaVersion, "journalMode": settings?.journalMode, "pages": settings?.pages,
            "pageSize": settings?.pageSize, "logPages": logPages, "counts": counts.isEmpty ? nil : CountsForm(counts),
            // The number of jobs that could have been sent for a minute, if no process sends any.
            "unsentJobs": unsentJobs > 0 ? unsentJobs : nil,
        ]
    }
}

extension HealthReport {
    var lines: [String] {
        let options = sqliteOptions.isEmpty ? "" : " (\(sqliteOptions.joined(separator: ", ")))"
        let store = diagnosis.map { diagnosis in
            [
                "sqlite    \(diagnosis.sqliteVersion)\(options)",
                "store     \(diagnosis.store.directory.path)\(diagnosis.directory.map { " (\($0.permissions))" } ?? "")",
            ]
        }
        return ["diamond   \(version)\(diagnosis?.settings.map { ", schema \($0.schemaVersion)" } ?? "")"]
            + (store ?? [])
            + (diagnosis?.files ?? []).map(\.line) + (queue.map { Self.lines(of: $0) } ?? []) + contents + queued
            + (diagnosis?.setAside ?? []).map { "aside     \($0.name), \(Quantity.bytes($0.bytes))" }
            + servers.flatMap(\.lines)
            + (problems.isEmpty ? ["healthy"] : problems.map { "! \($0.what): \($0.remedy)" })
    }

    /// Returns the files of the queue, with their directory if it has nothing else of the store.
    private static func lines(of queue: ReplayDiagnosis) -> [String] {
        let (own, other) = (queue.store.replayDirectory.path, queue.store.directory.path)
        return (own == other ? [] : ["queue in  \(own)"]) + queue.files.map(\.line)
    }

    private var queued: [String] {
        guard let queue, let settings = queue.settings, !queue.counts.isEmpty else { return [] }
        let pages = "\(settings.pages) pages of \(Quantity.bytes(settings.pageSize))"
        return [
            "queue     schema \(settings.schemaVersion), \(pages), journal_mode \(settings.journalMode)",
            "jobs      \(CountsForm(queue.counts).text)",
        ] + unsent + (queue.logPages > 0 ? [log(queue.logPages)] : [])
    }

    private var unsent: [String] {
        guard let count = queue?.unsentJobs, count > 0 else { return [] }
        return ["unsent    \(count), which no process sends now: run the program, or 'cachectl queue replay'"]
    }

    private func log(_ pages: Int64) -> String {
        "log       \(pages) pages, which a copy of replay.sqlite may lack: copy jobs with 'cachectl queue export'"
    }

    private var contents: [String] {
        guard let diagnosis, let settings = diagnosis.settings else { return [] }
        let pages = "\(settings.pages) of \(Quantity.bytes(settings.pageSize)), \(settings.freePages) free"
        let part = settings.pages > 0 ? " (\(settings.freePages * 100 / settings.pages) %)" : ""
        let modes = "journal_mode \(settings.journalMode), auto_vacuum \(settings.autoVacuumMode)"
        let held = diagnosis.totals.map { ["entries   \($0.entries), bodies \(Quantity.bytes($0.bodyBytes))"] } ?? []
        return [
            "pages     \(pages)\(part)",
            "log       \(diagnosis.logPages) pages; checkpointed from \(CacheDiagnosis.logThreshold) pages on",
            "settings  \(modes), application_id \(settings.hexadecimalID)",
            "used      \(Quantity.bytes(settings.usedBytes)) (each program sets its own limit)",
        ] + held + (keyIDs.map { ["sealed    with \($0.map { "'\($0)'" }.joined(separator: ", "))"] } ?? [])
    }
}
#endif
