/// The fewest moves that bring the rows of one section into their new order.
///
/// Untouched rows keep their order. They form blocks between the touched rows. The heaviest increasing subsequence of
/// touched rows and blocks stays in place; all others move. Takes O(k log k) time for k touched rows.
struct MoveMinimizer {
    struct Move: Hashable {
        let from: Int
        let to: Int
    }

    /// A touched row, or a block of untouched ones.
    private struct Element {
        /// The number of untouched rows before it.
        let oldGap: Int
        let newGap: Int
        /// The index of a touched row; -1 for a block, which follows the touched rows of its gap.
        let old: Int
        let new: Int
        let weight: Int

        var isBlock: Bool { old < 0 }
    }

    private let oldCount: Int
    /// The old and new indexes of all touched rows, sorted.
    private let touchedOld: [Int]
    private let touchedNew: [Int]

    /// Returns the moves of a section.
    ///
    /// - Parameters:
    ///   - oldCount: The old number of rows.
    ///   - leaving: The old indexes of rows that leave the section.
    ///   - arriving: The new indexes of rows that enter the section.
    ///   - staying: The touched rows that stay in the section, with both indexes.
    static func moves(oldCount: Int, leaving: [Int], arriving: [Int], staying: [Move]) -> [Move] {
        if staying.isEmpty { return [] }
        if leaving.isEmpty, arriving.isEmpty, staying.count == 1 { return staying.filter { $0.from != $0.to } }
        let minimizer = MoveMinimizer(
            oldCount: oldCount,
            touchedOld: (leaving + staying.map(\.from)).sorted(),
            touchedNew: (arriving + staying.map(\.to)).sorted())
        return minimizer.moves(of: staying)
    }

    private func moves(of staying: [Move]) -> [Move] {
        let elements = (staying.map(element) + blocks).sorted { left, right in
            (left.oldGap, left.isBlock ? 1 : 0, left.old) < (right.oldGap, right.isBlock ? 1 : 0, right.old)
        }
        let newOrder = elements.indices.sorted { left, right in
            let (left, right) = (elements[left], elements[right])
            return (left.newGap, left.isBlock ? 1 : 0, left.new) < (right.newGap, right.isBlock ? 1 : 0, right.new)
        }
        var ranks = [Int](repeating: 0, count: elements.count)
        for (rank, place) in newOrder.enumerated() { ranks[place] = rank }
        let kept = Set(IncreasingSubsequence.heaviest(ranks, weights: elements.map(\.weight)))
        return elements.indices.filter { !kept.contains($0) }.flatMap { moves(of: elements[$0]) }
    }

    private func element(_ move: Move) -> Element {
        Element(
            oldGap: move.from - touchedOld.countBelow(move.from),
            newGap: move.to - touchedNew.countBelow(move.to),
            old: move.from, new: move.to, weight: 1)
    }

    /// The untouched rows, split at the old and new positions of touched rows.
    private var blocks: [Element] {
        let untouched = oldCount - touchedOld.count
        let cuts = Set(gaps(touchedOld) + gaps(touchedNew) + [0]).sorted().filter { $0 < untouched }
        return cuts.enumerated().map { index, start in
            let end = index + 1 < cuts.count ? cuts[index + 1] : untouched
            return Element(oldGap: start, newGap: start, old: -1, new: -1, weight: end - start)
        }
    }

    private func gaps(_ touched: [Int]) -> [Int] { touched.enumerated().map { $1 - $0 } }

    private func moves(of element: Element) -> [Move] {
        guard element.isBlock else { return [Move(from: element.old, to: element.new)] }
        let (old, new) = (gaps(touchedOld), gaps(touchedNew))
        return (element.oldGap..<element.oldGap + element.weight).map { untouched in
            Move(from: untouched + old.countBelow(untouched + 1), to: untouched + new.countBelow(untouched + 1))
        }
    }
}

extension [Int] {
    /// Returns the number of elements of a sorted array that are less than a value.
    fileprivate func countBelow(_ value: Int) -> Int { partitionPoint { $0 < value } }
}
