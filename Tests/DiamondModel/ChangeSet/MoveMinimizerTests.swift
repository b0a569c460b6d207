import DiamondTestSupport
import Testing

@testable import DiamondModel

@Suite("Minimal moves") struct MoveMinimizerTests {
    @Test func `a row that moves past many rows is one move`() {
        let moves = MoveMinimizer.moves(oldCount: 5, leaving: [], arriving: [], staying: [.init(from: 0, to: 4)])
        #expect(moves == [.init(from: 0, to: 4)])
    }

    @Test func `a row past which many changed rows move is the only move`() {
        // 0 1 2 3 becomes 1 2 3 0, and the changed rows are 1, 2 and 3.
        let staying = [(1, 0), (2, 1), (3, 2)].map { MoveMinimizer.Move(from: $0.0, to: $0.1) }
        let moves = MoveMinimizer.moves(oldCount: 4, leaving: [], arriving: [], staying: staying)
        #expect(moves == [.init(from: 0, to: 3)])
    }

    @Test func `the moves of changed rows are as few as those of a difference of all rows`() {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Effort.rounds(1000, soaking: 50_000) {
            let old = Array(0..<(1 + random.below(20)))
            var new = old
            var touched: Set<Int> = []
            for _ in 0..<random.below(8) {
                let row = new.remove(at: random.below(new.count))
                new.insert(row, at: random.below(new.count + 1))
                touched.insert(row)
            }
            let staying = touched.map { MoveMinimizer.Move(from: $0, to: new.firstIndex(of: $0) ?? 0) }
            let moves = MoveMinimizer.moves(oldCount: old.count, leaving: [], arriving: [], staying: staying)
            let kept = IncreasingSubsequence.heaviest(new, weights: new.map { _ in 1 }).count
            #expect(moves.count == old.count - kept, "seed \(Effort.seed)")
        }
    }
}
