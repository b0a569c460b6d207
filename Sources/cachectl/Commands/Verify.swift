#if Tools
import ArgumentParser
import Diamond

struct Verify: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Reads the whole store, and holds it against its checksums.",
        discussion: """
            Programs may use it meanwhile. Ends with 1 when something is wrong and not mended. --repair drops what is \
            damaged, and makes indexes, triggers and tables that are missing; a file that SQLite finds malformed, or whose \
            tables have other columns, is set aside, and begins anew. Where it has found something it reads the store once \
            more, and tells what is left. Entries of a sealed store are held against their seals, too, where the key is \
            given.
            """
    )

    @OptionGroup var store: StoreOptions

    @Flag(help: "Mend what is found.")
    var repair = false

    func run() throws {
        let seal = try store.sealing.seal()
        let isSound: Bool
        do throws(CacheError) {
            let inspection = try CacheInspection(of: store.location, seal: seal)
            tellLocked(inspection)
            isSound = try repair ? mend(inspection, seal) : show(inspection)
        } catch {
            throw Failure.report(error)
        }
        if !isSound { throw Failure.damaged }
    }

    private func mend(_ inspection: CacheInspection, _ seal: AESGCMSeal?) throws(CacheError) -> Bool {
        let repairs = try inspection.repair()
        return show(inspection, repairs, left: repairs.isEmpty ? [] : try left(seal))
    }

    /// What is wrong still. A file that was set aside may have no other in its place, with nothing to be wrong.
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
    private func show(_ inspection: CacheInspection) -> Bool {
        let findings = inspection.findings
        if store.json {
            Output.json(VerificationReport(inspection, findings.map { FindingRow($0) }))
        } else {
            show(findings.map { FindingRow($0) })
            Output.line(Self.summary(inspection))
        }
        if !findings.isEmpty { Output.note("'cachectl verify --repair' mends it") }
        return findings.isEmpty
    }

    /// - Returns: whether all is well.
    private func show(_ inspection: CacheInspection, _ repairs: [CacheRepair], left: [CacheFinding]) -> Bool {
        let rows = repairs.map { repair in
            let isLeft = left.contains(repair.finding)
            return FindingRow(repair.finding, done: repair.done ?? (isLeft ? "still there" : "gone meanwhile"))
        }
        if store.json {
            Output.json(VerificationReport(inspection, rows, left: left.map { FindingRow($0) }))
        } else {
            show(rows)
            let outcome = left.isEmpty ? "mended" : "\(left.count) left"
            Output.line(Self.summary(inspection) + (rows.isEmpty ? "" : ", \(outcome)"))
        }
        for finding in left { Output.note("cachectl: not mended: \(FindingRow(finding).title)") }
        if !left.isEmpty { Output.note("'cachectl purge --all' erases what cannot be mended, and all the rest") }
        return left.isEmpty
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
        let count = inspection.findings.count
        guard count > 0 else { return "\(read): all sound" }
        return "\(read): \(count == 1 ? "1 finding" : "\(count) findings")"
    }
}

/// The form of `verify --json`.
private struct VerificationReport: Encodable {
    var entries: Int
    var bodyBytes: Int64
    /// Entries whose seals were not opened; absent where there are none.
    var locked: Int?
    var findings: [FindingRow]
    /// With `--repair`: what is wrong still; absent where nothing is.
    var left: [FindingRow]?

    init(_ inspection: CacheInspection, _ findings: [FindingRow], left: [FindingRow] = []) {
        self.left = left.isEmpty ? nil : left
        entries = inspection.entries
        bodyBytes = inspection.bodyBytes
        locked = inspection.locked > 0 ? inspection.locked : nil
        self.findings = findings
    }
}

/// One finding, for programs and for the table.
private struct FindingRow: Encodable {
    var kind: CacheFinding.Kind
    var key: String?
    var url: String?
    var what: String
    /// With `--repair`: what became of it.
    var done: String?

    init(_ finding: CacheFinding, done: String? = nil) {
        kind = finding.kind
        key = finding.key?.description
        url = finding.url
        what = finding.what
        self.done = done
    }

    /// In few words.
    var title: String { "\(kind.rawValue)\(key.map { " \($0.prefix(12))" } ?? ""): \(what)" }

    var cells: [String] {
        [kind.rawValue, key.map { String($0.prefix(12)) } ?? "-", what] + (done.map { [$0] } ?? []) + [url ?? "-"]
    }
}
#endif
