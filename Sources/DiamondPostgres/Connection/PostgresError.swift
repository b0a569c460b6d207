#if Postgres && canImport(CDiamondPostgres)
import CDiamondPostgres
import Foundation

/// A failure of the PostgreSQL server or of the connection to it.
///
/// Contains the SQLSTATE and the name of a violated constraint, but no values of a statement: they may be secrets.
package struct PostgresError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of a failure. Later versions may add kinds.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the kind, such as `unreachable`.
        package let description: String

        /// The server cannot be reached, does not accept writes, or the connection was lost.
        package static let unreachable = Code(description: "unreachable")
        /// The server refused the user or the password.
        package static let notPermitted = Code(description: "notPermitted")
        /// All connections are in use, and none became free in time.
        package static let busy = Code(description: "busy")
        /// The server did not answer in time.
        package static let late = Code(description: "late")
        /// The server refused a statement.
        package static let refused = Code(description: "refused")
        /// A newer version of this package wrote the tables.
        package static let newerSchema = Code(description: "newerSchema")
        /// The database has no tables of this package.
        package static let missingSchema = Code(description: "missingSchema")
        /// The server's data is damaged, or was changed by another program.
        package static let corrupt = Code(description: "corrupt")
        /// The server has no space left.
        package static let full = Code(description: "full")
        /// The connections were closed.
        package static let closed = Code(description: "closed")
    }

    /// The kind of failure.
    package let code: Code
    /// A description of the failure, in one line.
    package let message: String
    /// The code of the SQL standard for the failure, such as `23505`; `nil` if the server reported none.
    package let sqlState: String?
    /// Whether the transaction may have been committed, because the connection was lost while it was.
    package internal(set) var isOutcomeUnknown = false

    package init(_ code: Code, _ message: String, sqlState: String? = nil) {
        self.code = code
        self.message = message
        self.sqlState = sqlState
    }

    package var description: String { sqlState.map { "\(message) (SQLSTATE \($0))" } ?? message }

    /// Creates the error of a statement that the server refused.
    init(_ result: OpaquePointer) {
        func field(_ code: Int32) -> String? { PQresultErrorField(result, code).map { String(cString: $0) } }
        let state = field(diamond_pg_diag_sqlstate) ?? ""
        // Not the server's message: it may quote values.
        let constraint = field(diamond_pg_diag_constraint).map { ", constraint \($0)" } ?? ""
        self.init(Self.code(of: state), "PostgreSQL: \(Self.meaning(of: state))\(constraint)", sqlState: state)
    }

    private static func code(of state: String) -> Code {
        switch state {
        case _ where state.hasPrefix("08"), "57P01", "57P02", "57P03", "25006": .unreachable
        case _ where state.hasPrefix("28"), "42501": .notPermitted
        case "57014", "55P03", "25P03": .late
        case "53100", "53200", "53400": .full
        case "53300": .unreachable
        case _ where state.hasPrefix("XX"): .corrupt
        default: .refused
        }
    }

    /// Returns the meaning of a SQLSTATE (PostgreSQL documentation, appendix A).
    private static func meaning(of state: String) -> String {
        switch state {
        case "23505": "a value is not unique"
        case "25006": "the server is read-only"
        case "25P03": "the transaction was idle for too long"
        case "40001": "the transaction conflicts with another"
        case "40P01": "a deadlock"
        case "42501": "the user lacks a privilege"
        case "42P01", "42703", "3F000": "a table or a column is missing"
        case "53100": "the disk is full"
        case "53200": "the server is out of memory"
        case "53300": "the server has too many connections"
        case "55P03": "a lock was not released in time"
        case "57014": "the statement took too long"
        case "57P01", "57P02", "57P03": "the server is shutting down or starting"
        default: "the server refused a statement"
        }
    }

    /// Whether the same transaction may succeed at once, because another one came before it: after a conflict, a deadlock,
    /// or a value that has become unique to the other one. It has changed nothing.
    var isConflict: Bool { ["40001", "40P01", "23505"].contains(sqlState) }

    /// Whether a new connection may help, and the transaction has certainly changed nothing.
    var isLostConnection: Bool { code == .unreachable && !isOutcomeUnknown }
}
#endif
