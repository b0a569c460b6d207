import CDiamondSQLite
import Foundation

/// A failure of SQLite or of its file.
///
/// Contains the extended result code and the SQL, but no bound values: they may be secrets.
package struct SQLiteError: Error, Hashable, Sendable, CustomStringConvertible {
    /// An extended result code of SQLite (https://sqlite.org/rescode.html), or a negative code of this package.
    package struct Code: RawRepresentable, Hashable, Sendable {
        package let rawValue: Int32
        package init(rawValue: Int32) { self.rawValue = rawValue }

        package static let busy = Code(rawValue: SQLITE_BUSY)
        package static let readOnly = Code(rawValue: SQLITE_READONLY)
        package static let ioError = Code(rawValue: SQLITE_IOERR)
        /// No space for the file that processes share (`SQLITE_IOERR_SHMSIZE`).
        package static let noSharedMemory = Code(rawValue: SQLITE_IOERR | 19 << 8)
        /// The file was removed or renamed while it was open (`SQLITE_IOERR_VNODE`). Reported by Apple's SQLite, and
        /// when a further connection is opened.
        package static let fileReplaced = Code(rawValue: SQLITE_IOERR | 27 << 8)
        package static let corrupt = Code(rawValue: SQLITE_CORRUPT)
        package static let full = Code(rawValue: SQLITE_FULL)
        package static let cannotOpen = Code(rawValue: SQLITE_CANTOPEN)
        package static let notADatabase = Code(rawValue: SQLITE_NOTADB)
        /// The SQL does not match the file (`SQLITE_ERROR`). The file does not have the schema of its recorded version:
        /// a table or a column is missing, or the format differs.
        package static let schemaMismatch = Code(rawValue: SQLITE_ERROR)
        package static let constraint = Code(rawValue: SQLITE_CONSTRAINT)
        /// The file was written by a newer version of this package.
        package static let newerSchema = Code(rawValue: -1)
        /// The file is a SQLite database, but another program's.
        package static let foreignFile = Code(rawValue: -2)
        /// The database was opened before a fork and used after it.
        package static let forked = Code(rawValue: -3)
        /// The path leads to a link, a pipe, a socket or a device instead of a file.
        package static let notAFile = Code(rawValue: -4)
        /// The file or its directory belongs to another user.
        package static let notOurs = Code(rawValue: -5)
        /// Other users may write into the directory.
        package static let notPrivate = Code(rawValue: -6)

        /// Whether the file is not safe to use, because another user may control it.
        package var isUnsafe: Bool { [.notAFile, .notOurs, .notPrivate].contains(self) }

        /// The primary result code: `busy` for `SQLITE_BUSY_SNAPSHOT`.
        package var primary: Code { rawValue < 0 ? self : Code(rawValue: rawValue & 0xFF) }
    }

    package var code: Code
    package var message: String
    /// The database file.
    package var path: String
    package var sql: String?

    package init(_ code: Code, _ message: String, path: String, sql: String? = nil) {
        self.code = code
        self.message = message
        self.path = path
        self.sql = sql
    }

    /// Creates the error of a failed system call from its `errno`.
    package init(errno: Int32, _ message: String, path: String) {
        let reason = String(cString: strerror(errno))
        self.init([ENOSPC, EDQUOT].contains(errno) ? .full : .cannotOpen, "\(message), \(reason)", path: path)
    }

    /// A line for the user: the file, the failure and the remedy.
    package var summary: String {
        "\(path): \(message)\(sqliteCode)\(remedy.map { ": \($0)" } ?? "")"
    }

    private var sqliteCode: String { code.isUnsafe ? "" : " (SQLite \(code.rawValue))" }

    /// The summary and the SQL, for developers.
    package var description: String {
        guard let sql else { return summary }
        return "\(summary), in `\(sql.split(whereSeparator: \.isWhitespace).joined(separator: " "))`"
    }

    /// The action that the user can take; `nil` if there is none.
    package var remedy: String? {
        guard code != .noSharedMemory else { return "free space on the disk" }
        return switch code.primary {
        case .busy: "another process holds the file; try again, or end that process"
        case .readOnly: "make the file and its directory writable for this user"
        case .full: "free space on the disk"
        case .ioError: "check the disk and its free space"
        case .cannotOpen: "check that the directory exists and is writable for this user"
        case .corrupt, .notADatabase, .schemaMismatch: "move the file away; a new one is created"
        case .newerSchema: "update this program, or use another store directory"
        case .foreignFile: "use another store directory"
        case .notAFile: "remove it, or use another store directory"
        case .notOurs: "run this program as that user (sudo -u, docker run --user), or use another store directory"
        case .notPrivate: "run chmod go-w on it, or use another store directory"
        case .forked: "open the database after the fork, in the child"
        default: nil
        }
    }
}
