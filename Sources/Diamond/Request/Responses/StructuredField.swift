/// The structured fields that caches read (RFC 9651 section 4.2). Parameters are checked, but not returned.
enum StructuredField {
    /// The value of a member. Values of types that no cache directive has are checked, but not read.
    enum Item: Equatable {
        case integer(Int64)
        case decimal
        case string(String)
        case token(String)
        case bytes
        case boolean(Bool)
        case date
        case displayString
        case innerList
    }

    /// Returns the members of a dictionary; `nil` if it is malformed. Of a repeated key the last value counts.
    ///
    /// - Parameter lines: the values of the field's lines, which are one value together.
    static func dictionary(_ lines: [String]) -> [String: Item]? {
        var parser = StructuredFieldParser(lines)
        return try? parser.dictionary()
    }

    /// Returns the members of a list; `nil` if it is malformed.
    static func list(_ lines: [String]) -> [Item]? {
        var parser = StructuredFieldParser(lines)
        return try? parser.list()
    }

    /// Returns a string in quotes (section 4.1.6). Characters that a string cannot contain are replaced by `?`.
    static func quoted(_ text: String) -> String {
        let characters = text.unicodeScalars.map { scalar in
            switch scalar {
            case "\"", "\\": "\\\(scalar)"
            case " "..."~": String(scalar)
            default: "?"
            }
        }
        return "\"\(characters.joined())\""
    }
}
