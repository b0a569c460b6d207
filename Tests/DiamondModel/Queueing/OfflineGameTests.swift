import DiamondTestSupport
import Testing

/// Objects that refer to each other, loaded, edited, created, deleted and saved in every mode, while the network comes
/// and goes, the server refuses calls and loses answers, programs are killed, and users change.
@ModelActor
@Suite("Random steps of a program that is offline", .limit(minutes: 10, soaking: 60))
struct OfflineGameTests {
    private func play(_ seed: UInt64, steps: Int) async throws {
        let game = try OfflineGame(seed: seed)
        await game.play(steps: steps)
        #expect(game.violations.isEmpty, "DIAMOND_SEED=\(seed)\n\(game.log.joined(separator: "\n"))")
    }

    /// Games of 30 steps: 60 in the short form of both tests, and 10⁵ steps in the long form.
    @Test(arguments: 0..<20)
    func `a program shows what the server has and what waits, after any steps`(_ part: Int) async throws {
        let games = Effort.rounds(2, soaking: 150)
        for game in 0..<games {
            try Task.checkCancellation()
            try await play(UInt64(part * games + game), steps: 30)
        }
    }

    @Test(arguments: 0..<Effort.rounds(10, soaking: 400))
    func `a program shows what the server has and what waits, after random steps`(_ seed: Int) async throws {
        try await play(Effort.seed &+ UInt64(seed), steps: 30)
    }
}
