#if Tools
/// The lines that only one of two texts has.
struct LineDifference {
    private typealias Line = (number: Int, text: String)

    /// The maximum number of lines that are compared with each other. The time grows with its square.
    private static let limit = 2000

    private var removed: [Line] = []
    private var added: [Line] = []

    init(from old: [String], to new: [String]) {
        let start = zip(old, new).prefix { $0 == $1 }.count
        let end = zip(old.dropFirst(start).reversed(), new.dropFirst(start).reversed()).prefix { $0 == $1 }.count
        let (before, after) = (Array(old[start..<(old.count - end)]), Array(new[start..<(new.count - end)]))
        let number = { (offset: Int) in start + offset + 1 }
        guard before.count <= Self.limit, after.count <= Self.limit else {
            removed = before.enumerated().map { (number($0.offset), $0.element) }
            added = after.enumerated().map { (number($0.offset), $0.element) }
            return
        }
        let difference = after.difference(from: before)
        let lines = { (changes: [CollectionDifference<String>.Change]) -> [Line] in
            changes.map { change in
                switch change {
                case .remove(let offset, let text, _), .insert(let offset, let text, _): (number(offset), text)
                }
            }
        }
        removed = lines(difference.removals)
        added = lines(difference.insertions)
    }

    var isEmpty: Bool { removed.isEmpty && added.isEmpty }

    /// Returns the lines in their order: `-` for the first text, `+` for the second.
    ///
    /// - Parameter isNumbered: Whether the numbers of lines are printed.
    func lines(isNumbered: Bool) -> [String] {
        let all = removed.map { ("-", $0) } + added.map { ("+", $0) }
        return all.sorted { ($0.1.number, $1.0) < ($1.1.number, $0.0) }.map { sign, line in
            isNumbered ? "\(sign) \(line.number): \(line.text)" : "\(sign) \(line.text)"
        }
    }

    var form: JSONObject { ["onlyFirst": removed.map(\.text), "onlySecond": added.map(\.text)] }
}
#endif
