/// The path of a row: its section and its index in the section.
public struct RowPath: Hashable, Comparable, Sendable, Codable {
    public var section: Int
    public var row: Int

    public init(section: Int, row: Int) {
        self.section = section
        self.row = row
    }

    public static func < (left: RowPath, right: RowPath) -> Bool {
        (left.section, left.row) < (right.section, right.row)
    }
}

extension RowPath: CustomStringConvertible {
    public var description: String { "\(section).\(row)" }
}
