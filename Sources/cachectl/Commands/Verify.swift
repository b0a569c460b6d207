#if Tools
import ArgumentParser
import Diamond
import DiamondInspection

struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Reads the whole store, and holds it against its checksums.",
        discussion: """
            Reads the cache and, where there is one, the queue. Programs may use them meanwhile. Ends with 1 when something \
            is wrong and not mended. --repair drops what is damaged, and makes indexes, triggers and tables that are \
            missing; a file that SQLite finds malformed, or whose tables have other columns, is set aside, and begins anew. \
            Where it has found something it reads the store once more, and tells what is left. A damaged job of the queue \
            is not mended: it is not sent, and stays until it is discarded. Entries of a sealed store are held against \
            their seals, too, where the key is given.
            """
    )

    @OptionGroup var store: StoreOptions

    @Flag(help: "Mend what is found.")
    var repair = false

    func run() throws {
        let seal = try store.sealing.seal()
        let queue = try inspectQueue()
        var isSound = true
        do throws(CacheError) {
            let inspection = try CacheInspection(of: store.location, seal: seal)
            tellLocked(inspection)
            isSound = try repair ? mend(inspection, queue, seal) : show(inspection, queue)
        } catch {
            // Who has a queue may do without a cache.
            guard error.code == .noStore, let queue else { throw Failure.report(error) }
            show(nil, queue, [])
        }
        if !isSound || queue?.findings.isEmpty == false { throw Failure.damaged }
    }

    private func inspectQueue() throws -> ReplayInspection? {
        do throws(ReplayError) { return try ReplayInspection(of: store.location) } catch {
            throw Failure.report(error)
        }
    }

    private func mend(
        _ inspection: CacheInspection, _ queue: ReplayInspection?, _ seal: AESGCMSeal?
    ) throws(CacheError) -> Bool {
        let repairs = try inspection.repair()
        return show(inspection, queue, repairs, left: repairs.isEmpty ? [] : try left(seal))
    }

    /// Returns the findings that are left. A file that was set aside may have no other in its place, and then there are
    /// none.
    private func left(_ seal: AESGCMSeal?) throws(CacheError) -> [CacheFinding] {
        do throws(CacheError) {
            return try CacheInspection(of: store.location, seal: seal).findings
        } catch {
            guard error.code == .noStore else { throw error }
            return []
        }
    }

    private func tellLocked(_ inspection: CacheInspection) {
        guard inspection.locked > 0 else { return }
        let entries = Quantity.entries(inspection.locked)
        Output.note("cachectl: \(entries) held against checksums alone: give the key that has sealed them")
    }

    /// - Returns: whether all is well.
    private func show(_ inspection: CacheInspection, _ queue: ReplayInspection?) -> Bool {
        let findings = inspection.findings
        show(inspection, queue, findings.map { FindingRow($0) })
        if !findings.isEmpty { Output.note("'cachectl verify --repair' mends it") }
        return findings.isEmpty
    }

    /// - Returns: whether all is well.
    private func show(
        _ inspection: CacheInspection, _ queue: ReplayInspection?, _ repairs: [CacheRepair], left: [CacheFinding]
    ) -> Bool {
        let rows = repairs.map { repair in
            let isLeft = left.contains(repair.finding)
            return FindingRow(repair.finding, done: repair.done ?? (isLeft ? "still there" : "gone meanwhile"))
        }
        let outcome = left.isEmpty ? "mended" : "\(left.count) left"
        show(inspection, queue, rows, left: left.map { FindingRow($0) }, outcome: rows.isEmpty ? "" : ", \(outcome)")
        for finding in left { Output.note("cachectl: not mended: \(FindingRow(finding).title)") }
        if !left.isEmpty { Output.note("'cachectl purge --all' erases what cannot be mended, and all the rest") }
        return left.isEmpty
    }

    /// - Parameters:
    ///   - inspection: of the cache; `nil` where there is none.
    ///   - outcome: what has become of its findings.
    private func show(
        _ inspection: CacheInspection?, _ queue: ReplayInspection?, _ rows: [FindingRow], left: [FindingRow] = [],
        outcome: String = ""
    ) {
        let jobs = queue?.findings.map { FindingRow($0, done: repair ? "kept" : nil) } ?? []
        guard !store.json else { return Output.json(VerificationReport(inspection, queue, rows + jobs, left: left)) }
        show(rows + jobs)
        if let inspection { Output.line(Self.summary(inspection) + outcome) }
        if let queue { Output.line(Self.summary(queue)) }
    }

    private func show(_ rows: [FindingRow]) {
        guard !rows.isEmpty else { return }
        var table = Table(
            header: ["KIND", "KEY", "WHAT IS WRONG"] + (repair ? ["DONE"] : []) + ["URL"],
            alignments: Array(repeating: .left, count: repair ? 5 : 4)
        )
        table.rows = rows.map(\.cells)
        Output.table(table)
    }

    private static func summary(_ inspection: CacheInspection) -> String {
        let read = "\(Quantity.entries(inspection.entries)), \(Quantity.bytes(inspection.bodyBytes)) of bodies"
        return summary(read, inspection.findings.count)
    }

    private static func summary(_ queue: ReplayInspection) -> String {
        summary("\(Quantity.jobs(queue.jobs)) of the queue", queue.findings.count)
    }

    private static func summary(_ read: String, _ count: Int) -> String {
        guard count > 0 else { return "\(read): all sound" }
        return "\(read): \(count == 1 ? "1 finding" : "\(count) findings")"
    }
}

/// The form of `verify --json`.
private struct VerificationReport: Encodable {
    /// Absent where there is no cache.
    var entries: Int?
    var bodyBytes: Int64?
    /// Absent where there is no queue.
    var jobs: Int?
    /// Entries whose seals were not opened; absent where there are none.
    var locked: Int?
    var findings: [FindingRow]
    /// With `--repair`: what is wrong still; absent where nothing is.
    var left: [FindingRow]?

    init(
        _ inspection: CacheInspection?, _ queue: ReplayInspection?, _ findings: [FindingRow], left: [FindingRow]
    ) {
        self.left = left.isEmpty ? nil : left
        entries = inspection?.entries
        bodyBytes = inspection?.bodyBytes
        jobs = queue?.jobs
        locked = inspection.flatMap { $0.locked > 0 ? $0.locked : nil }
        self.findings = findings
    }
}

/// One finding, for programs and for the table.
private struct FindingRow: Encodable {
    var kind: String
    var key: String?
    var url: String?
    var what: String
    /// With `--repair`: what became of it.
    var done: String?

    init(_ finding: CacheFinding, done: String? = nil) {
        kind = finding.kind.rawValue
        key = finding.key?.description
        url = finding.url
        what = finding.what
        self.done = done
    }

    init(_ finding: ReplayInspection.Finding, done: String?) {
        (kind, what) = (finding.id == nil ? "queue" : "job", finding.what)
        self.done = done
    }

    /// In few words.
    var title: String { "\(kind)\(key.map { " \($0.prefix(12))" } ?? ""): \(what)" }

    var cells: [String] {
        [kind, key.map { String($0.prefix(12)) } ?? "-", what] + (done.map { [$0] } ?? []) + [url ?? "-"]
    }
}
#endif
