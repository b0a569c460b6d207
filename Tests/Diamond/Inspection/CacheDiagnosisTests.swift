import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond
@testable import DiamondInspection

@Suite("A diagnosis of a cache") struct CacheDiagnosisTests {
    let temporary = TemporaryStore()

    private func healthy() throws -> CacheDiagnosis {
        _ = try Cache(temporary.store)
        return CacheDiagnosis(of: temporary.store)
    }

    private typealias Ill = @Sendable (inout CacheDiagnosis) -> Void

    private static let ills: [(what: String, ill: Ill)] = [
        ("SQLite is built for a single thread", { $0.sqliteOptions = ["THREADSAFE=0"] }),
        ("the page size is 4096, not 8192: which is slower", { $0.settings?.pageSize = 4096 }),
        ("auto_vacuum is not incremental: the file never shrinks", { $0.settings?.autoVacuum = 1 }),
        ("the journal mode is delete, not wal: readers wait for writers", { $0.settings?.journalMode = "delete" }),
        ("the store's secret is missing", { $0.hasSecret = false }),
        ("the schema's version is 0, not 4", { $0.settings?.schemaVersion = 0 }),
        (
            "50 % of the file is unused",
            {
                $0.settings?.pages = 1000
                $0.settings?.freePages = 500
            }
        ),
        (
            "the log has 2552 pages, and is checkpointed from 1000 pages on",
            { $0.files = [.init(name: "cache.sqlite-wal", bytes: 20 << 20, mode: 0o600)] }
        ),
    ]

    @Test func `a diagnosis of a new store finds nothing to do`() throws {
        let diagnosis = try healthy()
        #expect(diagnosis.problems.isEmpty)
        #expect(diagnosis.settings?.isCurrent == true && diagnosis.totals?.entries == 0)
    }

    @Test(arguments: ills.indices) func `a diagnosis reports the problem that its facts show`(index: Int) throws {
        var diagnosis = try healthy()
        Self.ills[index].ill(&diagnosis)
        #expect(diagnosis.problems.map(\.what) == [Self.ills[index].what])
    }

    @Test func `a diagnosis quotes a path for a shell`() throws {
        let store = Store(directory: temporary.directory.appending(path: "it's"))
        try FileManager.default.createDirectory(at: store.directory, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: store.directory.path)
        let remedies = CacheDiagnosis(of: store).problems.map(\.remedy)
        #expect(remedies.contains { $0.hasPrefix("chmod 700 '/") && $0.hasSuffix(#"/it'\''s'"#) }, "\(remedies)")
    }

    @Test func `a diagnosis accepts a few free pages, and a log of the usual length`() throws {
        var diagnosis = try healthy()
        diagnosis.settings?.freePages = 100
        diagnosis.files = [.init(name: "cache.sqlite-wal", bytes: 16 << 20, mode: 0o600)]
        #expect(diagnosis.problems.isEmpty)
    }
}
