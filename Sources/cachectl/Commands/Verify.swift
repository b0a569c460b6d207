#if Tools
import ArgumentParser
import Diamond
import DiamondInspection

struct Verify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Checks every entry and job against its checksum, and with --repair repairs the cache.",
        discussion: """
            Reads the cache and, if there is one, the queue. Programs can use them meanwhile. With the key of a sealed \
            store, also checks the seals of its entries. Exits with 1 if a problem is found and not repaired.

            --repair deletes damaged entries, and downloads whose parts are missing or too old. It recreates missing \
            indexes, triggers and tables. It sets a file aside that SQLite reports as malformed, or whose tables have \
            other columns. It gives the entries of earlier versions the checksums of new entries. Then it reads the \
            store again, and prints the remaining problems. It does not repair damaged jobs. They are not sent, and \
            stay until you discard them. With --cache, reads every entry of the server.

            EXAMPLE
              cachectl verify --repair
            """
    )

    @OptionGroup var store: StoreOptions
    @OptionGroup var server: QueueServerOption

    @Flag(help: "Repair the problems that are found.")
    var repair = false

    @Flag(help: .quiet)
    var quiet = false

    func run() async throws {
        let seal = try store.sealing.seal()
        let places = try Place.examined(
            cache: store.chosenPlace(), queue: server.place(besides: store.place), store: store.place)
        let queue = try await inspection(of: places.queue)
        var isSound = true
        do {
            switch places.cache {
            case .store(let location):
                isSound = try await verify(queue: queue) { (note) throws(CacheError) in
                    try CacheInspection(of: location, seal: seal, progress: note)
                }
            case .server(let url):
                let cache = try url.cache(seal)
                isSound = try await verify(queue: queue) { (note) throws(CacheError) in
                    try ServerInspection(of: cache) { note($0, 0) }
                }
            case nil: show(nil, queue: queue, rows: [])
            }
        } catch let error as CacheError {
            // A store with a queue needs no cache.
            guard error.code == .noStore, queue != nil else { throw error }
            show(nil, queue: queue, rows: [])
        }
        if !isSound || queue?.findings.isEmpty == false { throw Failure.damaged }
    }

    private func inspection(of queue: Place?) async throws -> ReplayInspection? {
        switch queue {
        case .store(let store): try ReplayInspection(of: store)
        case .server(let url): try await ReplayInspection(of: ReplayQueue(storage: url.replayStorage(create: false)))
        case nil: nil
        }
    }

    /// Verifies the cache, repairs it if wanted, and prints the result.
    ///
    /// - Parameter inspect: Inspects the cache, and passes on the number of entries read, and that of all, or 0.
    /// - Returns: Whether no finding remains.
    private func verify(
        queue: ReplayInspection?, _ inspect: ((Int, Int) -> Void) throws(CacheError) -> any CacheInspecting
    ) async throws(CacheError) -> Bool {
        let progress = Progress("entries", isQuiet: quiet || store.json)
        defer { progress.end() }
        let inspection = try inspect { Progress.update($0, of: $1) }
        if inspection.locked > 0 {
            let entries = Quantity.entries(inspection.locked)
            Output.note("cachectl: \(entries) checked without the seal: give the key")
        }
        guard repair else { return show(inspection, queue: queue) }
        let repairs = try await inspection.repair()
        guard !repairs.isEmpty else { return show(inspection, queue: queue, repairs: [], left: []) }
        do throws(CacheError) {
            return show(inspection, queue: queue, repairs: repairs, left: try inspect { _, _ in }.findings)
        } catch {
            // The file was set aside, and is not yet replaced.
            guard error.code == .noStore else { throw error }
            return show(inspection, queue: queue, repairs: repairs, left: [])
        }
    }

    /// Prints the findings.
    ///
    /// - Returns: Whether there are none.
    private func show(_ inspection: any CacheInspecting, queue: ReplayInspection?) -> Bool {
        let findings = inspection.findings
        show(inspection, queue: queue, rows: findings.map { FindingRow($0) })
        if !findings.isEmpty { Output.note("run 'cachectl verify --repair\(store.optionText)' to repair it") }
        return findings.isEmpty
    }

    /// Prints the repairs and the findings that are left.
    ///
    /// - Returns: Whether none are left.
    private func show(
        _ inspection: any CacheInspecting, queue: ReplayInspection?, repairs: [CacheRepair], left: [CacheFinding]
    ) -> Bool {
        let rows = repairs.map { repair in
            let isLeft = left.contains(repair.finding)
            return FindingRow(repair.finding, done: repair.action ?? (isLeft ? "not repaired" : "no longer there"))
        }
        let outcome = left.isEmpty ? "repaired" : "\(left.count) left"
        show(
            inspection, queue: queue, rows: rows, left: left.map { FindingRow($0) },
            outcome: rows.isEmpty ? "" : ", \(outcome)")
        for finding in left { Output.note("cachectl: not repaired: \(FindingRow(finding).title)") }
        if !left.isEmpty {
            let command = "cachectl purge --all\(store.optionText)"
            Output.note("'\(command)' erases what cannot be repaired, and all other entries")
        }
        return left.isEmpty
    }

    /// Prints a report.
    ///
    /// - Parameters:
    ///   - inspection: The inspection of the cache; `nil` if there is no cache.
    ///   - outcome: The result of the repair, appended to the cache's summary.
    private func show(
        _ inspection: (any CacheInspecting)?, queue: ReplayInspection?, rows: [FindingRow], left: [FindingRow] = [],
        outcome: String = ""
    ) {
        let jobs = queue?.findings.map { FindingRow($0, done: repair ? "kept" : nil) } ?? []
        guard !store.json else {
            let form: JSONObject = [
                "entries": inspection?.entries, "bodyBytes": inspection?.bodyBytes, "jobs": queue?.jobs,
                "locked": inspection.flatMap { $0.locked > 0 ? $0.locked : nil }, "findings": rows + jobs,
                "left": left.isEmpty ? nil : left,
            ]
            return Output.json(form)
        }
        show(rows + jobs)
        if let inspection { Output.line(Self.summary(inspection) + outcome) }
        if let queue { Output.line(Self.summary(queue)) }
    }

    private func show(_ rows: [FindingRow]) {
        guard !rows.isEmpty else { return }
        let names = ["KIND", "KEY", "WHAT IS WRONG"] + (repair ? ["DONE"] : []) + ["URL"]
        Output.table(Table(columns: names.map { ($0, .left) }, rows: rows.map(\.cells)))
    }

    private static func summary(_ inspection: any CacheInspecting) -> String {
        let read = "\(Quantity.entries(inspection.entries)), \(Quantity.bytes(inspection.bodyBytes)) of bodies"
        return summary(read, findings: inspection.findings.count)
    }

    private static func summary(_ queue: ReplayInspection) -> String {
        summary("\(Quantity.jobs(queue.jobs)) of the queue", findings: queue.findings.count)
    }

    private static func summary(_ read: String, findings count: Int) -> String {
        guard count > 0 else { return "\(read): all sound" }
        return "\(read): \(count == 1 ? "1 finding" : "\(count) findings")"
    }
}

/// A finding, as an object of `verify --json` and as a row of the table.
private struct FindingRow: Encodable {
    var kind: String
    var key: String?
    var url: String?
    var what: String
    /// The result of `--repair`. Absent without that option.
    var done: String?

    init(_ finding: CacheFinding, done: String? = nil) {
        kind = finding.kind.rawValue
        key = finding.key?.description
        url = finding.url
        what = finding.what
        self.done = done
    }

    init(_ finding: ReplayFinding, done: String?) {
        kind = finding.id == nil ? "queue" : "job"
        what = finding.what
        self.done = done
    }

    /// A short description with the first 12 digits of the key.
    var title: String { "\(kind)\(key.map { " \($0.prefix(12))" } ?? ""): \(what)" }

    var cells: [String] {
        [kind, key.map { String($0.prefix(12)) } ?? "-", what] + (done.map { [$0] } ?? []) + [url ?? "-"]
    }
}
#endif
