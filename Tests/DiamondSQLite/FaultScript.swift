import DiamondTestSupport
import Foundation

@testable import DiamondSQLite

/// Twenty transactions on a file whose disk may fail, and their expected rows.
struct FaultScript {
    struct Row: Hashable {
        var a: Int64
        var e: Int64
        var d: Data
    }

    static let transactions = 0..<20

    let file = TemporaryFile()
    let disk: FaultDisk
    private let synchronous: SQLiteConfiguration.Synchronous
    /// The transactions whose commit returned, in order.
    private(set) var committed: [Int] = []
    /// The transactions that failed since. One of them may be in the file: a part of a failed commit can be in the log
    /// from an earlier use of that.
    private(set) var uncertain: [Int] = []
    private(set) var errors: [SQLiteError] = []
    private(set) var database: SQLiteDatabase?

    init(synchronous: SQLiteConfiguration.Synchronous = .normal) {
        disk = FaultDisk(directory: file.directory)
        self.synchronous = synchronous
    }

    /// Opens the file, runs the transactions without those that failed, and releases free space.
    mutating func run(_ transactions: Range<Int> = transactions) {
        do {
            if database == nil { database = try file.open(configuration(vfs: disk.vfs)) }
        } catch {
            return errors.append(error)
        }
        for number in transactions { apply(number) }
        database?.emptyLog()
    }

    mutating func apply(_ number: Int) {
        do {
            try database?.write { (connection) throws(SQLiteError) in try Self.change(number, connection) }
            committed.append(number)
            uncertain = []
        } catch {
            errors.append(error)
            uncertain.append(number)
        }
    }

    mutating func close() throws {
        database = nil
        guard disk.isClosed else { throw FaultDisk.StillOpen() }
    }

    /// Returns the rows that the same database reads now.
    func found() throws -> [Row] { try database.map(Self.rows) ?? [] }

    /// Returns the rows that another program reads, on a disk that works; throws where it cannot open the file.
    func left() throws -> (rows: [Row], integrity: String) {
        let database = try file.open(configuration(vfs: nil))
        return (try Self.rows(of: database), try Self.integrity(of: database))
    }

    private func configuration(vfs: String?) -> SQLiteConfiguration {
        var configuration = TemporaryFile.configuration()
        configuration.synchronous = synchronous
        configuration.pageSize = 1024
        configuration.checkpointLength = 24
        // There is no other connection to wait for.
        configuration.busyTimeout = 0
        configuration.vfs = vfs
        return configuration
    }
}

extension FaultScript {
    /// Returns the rows of an empty file after these transactions.
    static func rows(after transactions: some Sequence<Int>) -> [Row] {
        var rows: [Int64: Row] = [:]
        for number in transactions {
            let number = Int64(number)
            rows[number] = Row(a: number, e: number, d: bytes(number))
            if rows[number - 1] != nil { rows[number - 1] = Row(a: number - 1, e: number, d: bytes(number + 1)) }
            rows[number - 4] = nil
        }
        return rows.values.sorted { $0.a < $1.a }
    }

    private static func change(_ number: Int, _ connection: borrowing SQLiteConnection) throws(SQLiteError) {
        let number = Int64(number)
        try connection.run("INSERT INTO item (a, e, d) VALUES (\(number), \(number), \(bytes(number)))")
        try connection.run("UPDATE item SET e = \(number), d = \(bytes(number + 1)) WHERE a = \(number - 1)")
        try connection.run("DELETE FROM item WHERE a = \(number - 4)")
    }

    /// Returns a value of up to several pages.
    private static func bytes(_ number: Int64) -> Data {
        Data(repeating: UInt8(number), count: [0, 100, 1500, 5000][Int(number % 4)])
    }

    private static func rows(of database: SQLiteDatabase) throws(SQLiteError) -> [Row] {
        try database.read { (connection) throws(SQLiteError) in
            try connection.rows(
                "SELECT a, e, d FROM item ORDER BY a"
            ) { Row(a: $0.int64(0), e: $0.int64(1), d: $0.data(2)) }
        }
    }

    private static func integrity(of database: SQLiteDatabase) throws(SQLiteError) -> String {
        try database.read { (connection) throws(SQLiteError) in
            let check = try connection.statement("PRAGMA integrity_check")
            return try check.step() ? check.text(0) : ""
        }
    }
}
