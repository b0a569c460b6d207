import DiamondSQLite
import DiamondSchema
import Foundation
import Testing

/// Prepares the statements that are found in the sources, so that an unknown column is noticed even where no other test
/// runs them.
@Suite("The statements of the tables") struct StatementTests {
    @Test(arguments: ["Cache", "Replay"]) func `each statement fits the schema`(room: String) throws {
        let statements = try Statements(ofRoom: room).texts
        #expect(statements.count > 90)
        let configuration = room == "Cache" ? DiamondSchema.cache : DiamondSchema.replay
        let errors = try SQLiteDatabase.inMemory(configuration: configuration) { (connection) throws(SQLiteError) in
            statements.compactMap { sql in
                Result { () throws(SQLiteError) in _ = try connection.statement(composed: sql) }.error
            }
        }
        #expect(errors.isEmpty)
    }

    @Test func `a statement in the source is read with a parameter for each value`() {
        var statements = Statements()
        statements.add(
            #"""
            run("DELETE FROM a WHERE b = \(f(x, "y")) AND c = \(d)")
            rows("""
                SELECT \(sql: columns)
                FROM a
                """)
            """#)
        #expect(
            statements.texts.map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") } == [
                "DELETE FROM a WHERE b = ? AND c = ?", "SELECT 1 FROM a",
            ])
    }
}

extension Result {
    fileprivate var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}

/// The SQL statements in Swift sources.
private struct Statements {
    private(set) var texts: [String] = []

    init() {}

    init(ofRoom room: String) throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let folder = tests.appending(path: "../../Sources/Diamond/\(room)/Table")
        for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
            add(try String(contentsOf: file, encoding: .utf8))
        }
    }

    /// Adds the statements of a source file.
    mutating func add(_ source: String) {
        let beginning = #/("""\s*|")(SELECT|INSERT|UPDATE|DELETE) /#
        var rest = source[...]
        while let match = rest.firstMatch(of: beginning) {
            let quotes = match.1.hasPrefix("\"\"\"") ? "\"\"\"" : "\""
            rest = rest[match.2.startIndex...]
            texts.append(Self.takeText(from: &rest, until: quotes))
        }
    }

    private static func takeText(from rest: inout Substring, until quotes: String) -> String {
        var text = ""
        while !rest.isEmpty, !rest.hasPrefix(quotes) {
            guard rest.hasPrefix("\\(") else {
                text.append(rest.removeFirst())
                continue
            }
            rest.removeFirst(2)
            text += parameter(takeExpression(from: &rest))
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
    private static func parameter(_ expression: String) -> String {
        guard expression.hasPrefix("sql: ") else { return "?" }
        return switch expression.dropFirst(5).prefix(while: \.isLetter) {
        case "assignments": "is_visited = 1"
        case "rows": "entry"
        case "search": "job_early WHERE reason = 'backoff'"
        case "condition" where expression == "sql: condition": "TRUE"
        default: "1"
        }
    }
}
