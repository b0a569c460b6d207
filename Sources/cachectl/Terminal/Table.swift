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

    /// Returns the header and the rows as lines.
    ///
    /// - Parameter width: The columns of the terminal; `nil` for no limit.
    func lines(width: Int?) -> [String] {
        let all = ([columns.map(\.name)] + rows).map { row in row.map(\.withoutControls) }
        let widths = columns.indices.map { column in all.map { $0[column].count }.max() ?? 0 }
        return all.map { line($0, widths: widths, total: width) }
    }

    private func line(_ row: [String], widths: [Int], total: Int?) -> String {
        let cells = row.indices.map { column in
            let isLast = column == row.count - 1
            return isLast && columns[column].alignment == .left
                ? row[column] : padded(row[column], to: widths[column], column: column)
        }
        let line = cells.joined(separator: "  ")
        guard let total, line.count > total, total > 1 else { return line }
        return line.prefix(total - 1) + "…"
    }

    private func padded(_ text: String, to width: Int, column: Int) -> String {
        let space = String(repeating: " ", count: width - text.count)
        return columns[column].alignment == .left ? text + space : space + text
    }
}
#endif
