#if Tools
import Diamond

/// Aligned columns under a header. Lines are cut to the width of the terminal.
struct Table {
    enum Alignment { case left, right }

    typealias Column = (name: String, alignment: Alignment)

    let columns: [Column]
    let rows: [[String]]

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

extension Table {
    init(_ columns: KeyValuePairs<String, Alignment>, rows: [[String]]) {
        self.init(columns: columns.map { ($0.key, $0.value) }, rows: rows)
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
    /// The first and last scalars of the ranges that take two columns: those of East Asian Width `W` and `F` (UAX #11,
    /// Unicode 16).
    private static let wide: KeyValuePairs<UInt32, UInt32> = [
        0x1100: 0x115F, 0x231A: 0x231B, 0x2329: 0x232A, 0x23E9: 0x23EC, 0x23F0: 0x23F0, 0x23F3: 0x23F3, 0x25FD: 0x25FE,
        0x2614: 0x2615, 0x2630: 0x2637, 0x2648: 0x2653, 0x267F: 0x267F, 0x268A: 0x268F, 0x2693: 0x2693, 0x26A1: 0x26A1,
        0x26AA: 0x26AB, 0x26BD: 0x26BE, 0x26C4: 0x26C5, 0x26CE: 0x26CE, 0x26D4: 0x26D4, 0x26EA: 0x26EA, 0x26F2: 0x26F3,
        0x26F5: 0x26F5, 0x26FA: 0x26FA, 0x26FD: 0x26FD, 0x2705: 0x2705, 0x270A: 0x270B, 0x2728: 0x2728, 0x274C: 0x274C,
        0x274E: 0x274E, 0x2753: 0x2755, 0x2757: 0x2757, 0x2795: 0x2797, 0x27B0: 0x27B0, 0x27BF: 0x27BF, 0x2B1B: 0x2B1C,
        0x2B50: 0x2B50, 0x2B55: 0x2B55, 0x2E80: 0x303E, 0x3041: 0x3247, 0x3250: 0xA4C6, 0xA960: 0xA97C, 0xAC00: 0xD7A3,
        0xF900: 0xFAFF, 0xFE10: 0xFE19, 0xFE30: 0xFE6B, 0xFF01: 0xFF60, 0xFFE0: 0xFFE6, 0x16FE0: 0x1B2FB,
        0x1D300: 0x1D376, 0x1F004: 0x1F004, 0x1F0CF: 0x1F0CF, 0x1F18E: 0x1F18E, 0x1F191: 0x1F19A, 0x1F200: 0x1F320,
        0x1F32D: 0x1F335, 0x1F337: 0x1F37C, 0x1F37E: 0x1F393, 0x1F3A0: 0x1F3CA, 0x1F3CF: 0x1F3D3, 0x1F3E0: 0x1F3F0,
        0x1F3F4: 0x1F3F4, 0x1F3F8: 0x1F43E, 0x1F440: 0x1F440, 0x1F442: 0x1F4FC, 0x1F4FF: 0x1F53D, 0x1F54B: 0x1F54E,
        0x1F550: 0x1F567, 0x1F57A: 0x1F57A, 0x1F595: 0x1F596, 0x1F5A4: 0x1F5A4, 0x1F5FB: 0x1F64F, 0x1F680: 0x1F6C5,
        0x1F6CC: 0x1F6CC, 0x1F6D0: 0x1F6D2, 0x1F6D5: 0x1F6DF, 0x1F6EB: 0x1F6EC, 0x1F6F4: 0x1F6FC, 0x1F7E0: 0x1F7F0,
        0x1F90C: 0x1F93A, 0x1F93C: 0x1F945, 0x1F947: 0x1F9FF, 0x1FA70: 0x1FAFF, 0x20000: 0x3FFFD,
    ]

    fileprivate var terminalWidth: Int {
        guard !isASCII, let value = unicodeScalars.first?.value else { return 1 }
        return Self.wide.contains { $0.key <= value && value <= $0.value } ? 2 : 1
    }
}
#endif
