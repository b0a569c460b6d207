package import Diamond
import DiamondSQLite
import DiamondSchema
import Foundation

/// The state of a store: its files, settings and contents. Reading it changes nothing.
package struct CacheDiagnosis: Sendable {
    /// A file or a directory of the store.
    package struct File: Hashable, Sendable {
        package var name: String
        package var bytes: Int64
        /// The permission bits.
        package var mode: Int
    }

    package let store: Store
    package var sqliteVersion = SQLiteLibrary.version
    package var sqliteOptions = SQLiteLibrary.options
    /// The store's directory; `nil` if it does not exist.
    package var directory: File?
    /// The existing files of the database, its write-ahead log and the log's index.
    package var files: [File] = []
    /// The damaged files that were set aside.
    package var setAside: [File] = []
    /// The file's settings; `nil` if the file cannot be read.
    package var settings: CacheTable.Settings?
    package var totals: CacheTotals?
    package var hasSecret = false
    /// Whether the store has sealed entries. It is determined only if the secret is missing.
    package var isSealed = false
    /// The tables, indexes and triggers that are missing, differ from the schema, or are not in it.
    package var schemaFaults: [String] = []
    /// The names of the keys that seal the store's entries.
    package var keyIDs: [String] = []
    /// The process that keeps others from writing, if ``findWriter()`` has found one.
    package var writer: WriteLock?
    /// The error that keeps programs from using the store; `nil` if they can use it.
    package var failure: CacheError?

    package init(of store: Store) {
        self.store = store
        directory = File(store.directory.path, name: store.directory.path)
        files = .all(of: store.cachePath, named: "cache.sqlite")
        setAside = store.setAside.compactMap { File($0.path, name: $0.lastPathComponent) }
        do throws(CacheError) { try read() } catch { failure = error }
    }

    private mutating func read() throws(CacheError) {
        try store.requireCache()
        do throws(SQLiteError) {
            let expected = try CacheSchema.expected()
            self = try SQLiteDatabase.inspect(at: store.cachePath, configuration: DiamondSchema.cache) {
                (connection) throws(SQLiteError) in
                var diagnosis = self
                try diagnosis.read(expected, on: connection)
                return diagnosis
            }
        } catch {
            throw CacheError(error)
        }
    }

    private mutating func read(
        _ expected: CacheSchema,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        let settings = try CacheTable.settings(on: connection)
        let schema = try CacheTable.schema(on: connection)
        self.settings = settings
        failure = settings.failure(of: store, mistake: settings.headerMistake(in: schema, expected: expected))
        guard settings.isCurrent else { return }
        schemaFaults = schema.faults(comparedTo: expected).map(\.what)
        // The queries below need every table.
        guard schema.hasTables(of: expected) else { return }
        totals = try CacheTable.totals(on: connection)
        keyIDs = try CacheTable.sealedSecrets(on: connection).keys.sorted()
        hasSecret = try CacheTable.hasSoundSecret(on: connection)
        if !hasSecret { isSealed = try !CacheTable.seals(on: connection).isEmpty }
    }

    /// Looks for a process that keeps others from writing, for a second. This process must not have the file open.
    package mutating func findWriter() { writer = WriteLock.lasting(of: store.cachePath) }

    /// The number of bytes of the write-ahead log.
    var logBytes: Int64 { files.logBytes }

    /// The number of pages in the log, including pages that are already checkpointed.
    package var logPages: Int64 { files.logPages(of: settings?.pageSize) }

    /// The number of pages from which the log is checkpointed.
    package static var logThreshold: Int64 { Int64(DiamondSchema.cache.checkpointLength) }
}

extension CacheDiagnosis.File {
    init?(_ path: String, name: String) {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { return nil }
        let mode = (attributes[.posixPermissions] as? NSNumber)?.intValue ?? 0
        self.init(name: name, bytes: (attributes[.size] as? NSNumber)?.int64Value ?? 0, mode: mode & 0o777)
    }
}

extension [CacheDiagnosis.File] {
    /// Returns the files of a database that exist: the file itself, its log, and the index of that.
    static func all(of path: String, named name: String) -> Self {
        ["", "-wal", "-shm"].compactMap { CacheDiagnosis.File(path + $0, name: name + $0) }
    }

    var logBytes: Int64 { first { $0.name.hasSuffix("-wal") }?.bytes ?? 0 }

    /// Returns the number of pages in the log, without its header and those of the pages.
    func logPages(of pageSize: Int64?) -> Int64 { pageSize.map { Swift.max(0, logBytes - 32) / ($0 + 24) } ?? 0 }
}

extension CacheTable.Settings {
    /// Whether the file has the schema version of this program.
    var isCurrent: Bool {
        applicationID == DiamondSchema.cache.applicationID && schemaVersion == DiamondSchema.cache.migrations.count
    }

    /// Returns the error that keeps programs from using the file. An empty or older file gives none: the next program
    /// that opens it migrates it.
    ///
    /// - Parameter mistake: the mistake in the header of a file with Diamond's tables; `nil` if there is none.
    fileprivate func failure(of store: Store, mistake: String?) -> CacheError? {
        if let mistake {
            return CacheError(.other, "\(store.cachePath): \(mistake): 'cachectl verify --repair' sets it")
        }
        if applicationID != DiamondSchema.cache.applicationID, applicationID != 0 || pages > 1 {
            return CacheError(SQLiteError(.foreignFile, "belongs to another program", path: store.cachePath))
        }
        return DiamondSchema.cache.refusal(of: schemaVersion, path: store.cachePath).map { CacheError($0) }
    }
}
