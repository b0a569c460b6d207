#if Tools
import Diamond

/// Aligned columns under a header. Lines are cut to the width of the terminal.
struct Table {
    enum Alignment { case left, right }

    typealias Column = (name: String, alignment: Alignment)

    private let columns: [Column]
    private let rows: [[String]]

    init(_ columns: KeyValuePairs<String, Alignment>, rows: [[String]]) {
        self.init(columns: columns.map { ($0.key, $0.value) }, rows: rows)
    }

    init(columns: [Column], rows: [[String]]) {
        self.columns = columns
        self.rows = rows
    }

    /// Returns a bar of a histogram: 24 characters for the largest number, one for a small one, none for zero.
    static func bar(_ count: Int, of largest: Int) -> String {
        String(repeating: "█", count: (count * 24 + largest - 1) / max(1, largest))
    }

    /// Returns the header and the rows as lines.
    ///
    /// - Parameter width: The columns of the terminal; `nil` for no limit.
    func lines(width: Int?) -> [String] {
        let all = ([columns.map(\.name)] + rows).map { row in row.map(\.withoutControls) }
        let widths = columns.indices.map { column in all.map { $0[column].terminalWidth }.max() ?? 0 }
        return all.map { line($0, widths: widths, total: width) }
    }

    private func line(_ row: [String], widths: [Int], total: Int?) -> String {
        let cells = row.indices.map { column in
            let isLast = column == row.count - 1
            return isLast && columns[column].alignment == .left
                ? row[column] : padded(row[column], to: widths[column], column: column)
        }
        let line = cells.joined(separator: "  ")
        guard let total, line.terminalWidth > total, total > 1 else { return line }
        return line.prefix(terminalWidth: total - 1) + "…"
    }

    private func padded(_ text: String, to width: Int, column: Int) -> String {
        let space = String(repeating: " ", count: width - text.terminalWidth)
        return columns[column].alignment == .left ? text + space : space + text
    }
}

extension String {
    /// The number of columns that a terminal takes for the text.
    var terminalWidth: Int { reduce(0) { $0 + $1.terminalWidth } }

    /// Returns the longest beginning that fits a number of columns.
    func prefix(terminalWidth: Int) -> Substring {
        var rest = terminalWidth
        return prefix { character in
            rest -= character.terminalWidth
            return rest >= 0
        }
    }
}

extension Character {
    /// The ranges of scalars that take two columns: CJK, and symbols that are shown as pictures (UAX #11).
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
        0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1FAFF, 0x20000...0x3FFFD,
    ]

    fileprivate var terminalWidth: Int {
        guard !isASCII, let value = unicodeScalars.first?.value else { return 1 }
        return Self.wide.contains { $0.contains(value) } ? 2 : 1
    }
}
#endif
