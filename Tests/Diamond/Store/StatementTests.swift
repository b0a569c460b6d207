import DiamondSchema
import Foundation
import Testing

@testable import Diamond
@testable import DiamondSQLite

/// Prepares the statements that are found in the sources, so that an unknown column is noticed even where no other test
/// runs them.
@Suite("The statements of the tables") struct StatementTests {
    @Test(arguments: ["Cache", "Replay"]) func `each statement fits the schema`(room: String) throws {
        let statements = try Statements(ofRoom: room).all
        #expect(statements.count > 90)
        let errors = try SQLiteDatabase.inMemory(configuration: configuration(room)) {
            (connection) throws(SQLiteError) in
            statements.compactMap { statement in
                Result { () throws(SQLiteError) in _ = try connection.statement(composed: statement.text) }.error
            }
        }
        #expect(errors.isEmpty)
    }

    private func configuration(_ room: String) -> SQLiteConfiguration {
        room == "Cache" ? DiamondSchema.cache : DiamondSchema.replay
    }

    /// The columns by the text that names them in a source.
    private static let columns: [String: [String: any SQLiteColumns.Type]] = [
        "Cache": [
            "Column": CacheTable.Column.self, "CacheAccess.Column": CacheAccess.Column.self,
            "CacheCounts.Column": CacheCounts.Column.self, "CacheListing.Column": CacheListing.Column.self,
            "DownloadRow.Column": CacheTable.DownloadRow.Column.self,
        ],
        "Replay": [
            "AnswerColumn": ReplayTable.AnswerColumn.self, "ClockColumn": ReplayTable.ClockColumn.self,
            "Column": ReplayTable.Column.self, "FailureColumn": ReplayTable.FailureColumn.self,
            "Owner.Column": ReplayTable.Owner.Column.self, "ReplayRow.Column": ReplayRow.Column.self,
            "SealableJob.Column": ReplayTable.SealableJob.Column.self,
        ],
    ]

    @Test(arguments: ["Cache", "Replay"])
    func `the columns of each statement have the names by which they are read`(room: String) throws {
        let statements = try Statements(ofRoom: room).all.filter { $0.columns != nil }
        #expect(statements.count >= (room == "Cache" ? 9 : 4))
        let known = try #require(Self.columns[room])
        let differences = try SQLiteDatabase.inMemory(configuration: configuration(room)) {
            (connection) throws(SQLiteError) in
            var differences: [String?] = []
            for statement in statements {
                let prepared = try connection.statement(composed: statement.text)
                let columns = statement.columns.flatMap { known[$0] }
                differences.append(
                    columns == nil ? "unknown columns" : columns?.difference(from: prepared.pointer))
            }
            return differences
        }
        #expect(differences.allSatisfy { $0 == nil })
    }

    @Test func `a statement in the source is read with a parameter for each value`() {
        var statements = Statements()
        statements.add(
            #"""
            run("DELETE FROM a WHERE b = \(f(x, "y")) AND c = \(d)")
            rows("""
                SELECT \(sql: columns)
                FROM a
                """, columns: Row.Column.self)
            """#)
        #expect(statements.all.map(\.columns) == [nil, "Row.Column"])
        #expect(
            statements.all.map { $0.text.split(whereSeparator: \.isWhitespace).joined(separator: " ") } == [
                "DELETE FROM a WHERE b = ? AND c = ?", "SELECT 1 FROM a",
            ])
    }
}

extension Result {
    fileprivate var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}

/// The SQL statements in Swift sources.
private struct Statements {
    struct Statement {
        var text: String
        /// The type whose cases name the columns; `nil` if they are read by index.
        var columns: String?
    }

    private(set) var all: [Statement] = []

    init() {}

    init(ofRoom room: String) throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let folder = tests.appending(path: "../../Sources/Diamond/\(room)/Table")
        let sources = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .map { try String(contentsOf: $0, encoding: .utf8) }
        // Other files of the table read the columns of one file.
        let shared = sources.compactMap { Self.columns(in: $0) }.first
        for source in sources { add(source, sharedColumns: shared ?? "1") }
    }

    private static func columns(in source: String) -> String? {
        source.firstMatch(of: #/static let columns: SQL = """(.*?)"""/#.dotMatchesNewlines()).map { String($0.1) }
    }

    /// Adds the statements of a source file.
    mutating func add(_ source: String, sharedColumns: String = "1") {
        let columns = Self.columns(in: source) ?? sharedColumns
        let beginning = #/("""\s*|")(SELECT|INSERT|UPDATE|DELETE) /#
        var rest = source[...]
        while let match = rest.firstMatch(of: beginning) {
            let quotes = match.1.hasPrefix("\"\"\"") ? "\"\"\"" : "\""
            rest = rest[match.2.startIndex...]
            let text = Self.takeText(from: &rest, until: quotes, columns: columns)
            let type = rest.prefixMatch(of: #/"+,\s*columns: ([\w.]+)\.self/#)
            all.append(Statement(text: text, columns: type.map { String($0.1) }))
        }
    }

    private static func takeText(from rest: inout Substring, until quotes: String, columns: String) -> String {
        var text = ""
        while !rest.isEmpty, !rest.hasPrefix(quotes) {
            guard rest.hasPrefix("\\(") else {
                text.append(rest.removeFirst())
                continue
            }
            rest.removeFirst(2)
            text += parameter(takeExpression(from: &rest), columns: columns)
        }
        return text
    }

    private static func takeExpression(from rest: inout Substring) -> String {
        var expression = ""
        var depth = 1
        while let character = rest.popFirst() {
            if character == "(" { depth += 1 }
            if character == ")" { depth -= 1 }
            if depth == 0 { break }
            expression.append(character)
        }
        return expression
    }

    /// Returns the SQL in the place of an interpolated expression. Parts of statements are not read: the simplest
    /// stands for each.
    private static func parameter(_ expression: String, columns: String) -> String {
        guard expression.hasPrefix("sql: ") else { return "?" }
        return switch expression.dropFirst(5).prefix(while: \.isLetter) {
        case "columns": columns
        case "assignments": "is_visited = 1"
        case "rows": "entry"
        case "search": "job_early WHERE reason = 'backoff'"
        case "condition" where expression == "sql: condition": "TRUE"
        default: "1"
        }
    }
}
