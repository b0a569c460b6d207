import Diamond
import DiamondSQLite
import DiamondSchema
import Foundation

extension CacheDiagnosis {
    /// A problem of a store, with its remedy.
    package struct Problem: Hashable, Sendable {
        /// The problem, in one line.
        package var what: String
        /// The action that remedies it.
        package var remedy: String

        package init(what: String, remedy: String) {
            self.what = what
            self.remedy = remedy
        }
    }

    /// The problems found in what was read, the worst first.
    package var problems: [Problem] {
        usability + (writer.map { [$0.problem] } ?? []) + permissions + (settings.map { self.problems(of: $0) } ?? [])
            + setAside.map { file in
                Problem(what: "\(file.name) was damaged and set aside", remedy: "examine it, or remove it")
            }
    }

    private var usability: [Problem] {
        var problems: [Problem] = []
        if let failure { problems.append(Problem(what: "the store cannot be used", remedy: failure.message)) }
        if sqliteOptions.contains("THREADSAFE=0") {
            problems.append(
                Problem(what: "SQLite is built for a single thread", remedy: "link one with THREADSAFE=1 or 2"))
        }
        return problems
    }

    private var permissions: [Problem] {
        let place = directory.flatMap { $0.permissionProblem(at: $0.name, right: 0o700) }
        return (place.map { [$0] } ?? [])
            + files.compactMap {
                $0.permissionProblem(at: store.directory.appendingPathComponent($0.name).path, right: 0o600)
            }
    }

    private func problems(of settings: CacheTable.Settings) -> [Problem] {
        guard failure == nil else { return [] }
        guard settings.isCurrent else {
            let what = "the schema's version is \(settings.schemaVersion), not \(DiamondSchema.cache.migrations.count)"
            return [Problem(what: what, remedy: "'cachectl stats' migrates it, as any program does")]
        }
        return settings.problems + contentProblems(settings)
    }

    private func contentProblems(_ settings: CacheTable.Settings) -> [Problem] {
        var problems = schemaFaults.map { Problem(what: $0, remedy: "'cachectl verify --repair' repairs it") }
        // The rest was read only if the tables exist.
        guard totals != nil else { return problems }
        if !hasSecret { problems.append(lostSecret) }
        if Eviction.isWasteful(free: settings.freeBytes, used: settings.usedBytes) {
            let part = settings.freePages * 100 / max(1, settings.pages)
            problems.append(
                Problem(
                    what: "\(part) % of the file is unused",
                    remedy: "the next writes of a program release it; 'cachectl evict' does it now"))
        }
        if logBytes > Eviction.logBytes {
            problems.append(
                Problem(
                    what: "the log has \(logPages) pages, and is checkpointed from \(Self.logThreshold) pages on",
                    remedy:
                        "the next writes shorten it; if a program reads for long, end it, then run 'cachectl evict'"))
        }
        return problems
    }

    private var lostSecret: Problem {
        guard isSealed else {
            return Problem(
                what: "the store's secret is missing", remedy: "'cachectl verify --repair' creates a new one")
        }
        return Problem(
            what: "the sealed store's secret is missing: its entries are no longer found by URL, host, tag or identity",
            remedy: "run 'cachectl purge --all'; the next program with the key creates a new one")
    }
}

extension CacheDiagnosis.File {
    /// Returns the problem of a file with other permissions than the right ones; `nil` without one.
    func permissionProblem(at path: String, right: Int) -> CacheDiagnosis.Problem? {
        guard mode != right else { return nil }
        let permissions = String(right, radix: 8)
        return CacheDiagnosis.Problem(
            what: "\(path) has the permissions 0\(String(mode, radix: 8)), not 0\(permissions)",
            remedy: "chmod \(permissions) \(path.shellWord)")
    }
}

extension CacheTable.Settings {
    /// The problems of settings that are fixed when the file is created, or corrected when it is opened.
    fileprivate var problems: [CacheDiagnosis.Problem] {
        var problems: [CacheDiagnosis.Problem] = []
        let replaceFile = "end the programs that use the store and remove cache.sqlite*: a new one is created"
        if journalMode != "wal" {
            problems.append(
                .init(
                    what: "the journal mode is \(journalMode), not wal: readers wait for writers",
                    remedy: "'cachectl stats' sets it, as any program does"))
        }
        if autoVacuum != 2 {
            problems.append(.init(what: "auto_vacuum is not incremental: the file never shrinks", remedy: replaceFile))
        }
        if pageSize != DiamondSchema.cache.pageSize {
            let what = "the page size is \(pageSize), not \(DiamondSchema.cache.pageSize): which is slower"
            problems.append(.init(what: what, remedy: replaceFile))
        }
        return problems
    }
}
