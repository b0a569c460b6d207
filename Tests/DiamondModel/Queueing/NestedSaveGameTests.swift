import Diamond
import DiamondModel
import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

/// Saves of one object with nested objects in random order, while the network comes and goes, the server refuses some,
/// and the user edits, rolls back and reads the object again.
@ModelActor
@Suite("Random saves of nested objects", .limit(minutes: 5, soaking: 20)) struct NestedSaveGameTests {
    @ModelActor
    private final class Game {
        let api = QueuedAPI()
        let program: QueuedAPI.Program
        let order: ByHand.Order
        private var random: SplitMix
        private var token: ObserverToken?
        private var calls: [Task<Void, Never>] = []
        private var step = 0
        private(set) var log: [String] = []

        init(seed: UInt64) throws {
            random = SplitMix(state: seed)
            program = try api.start()
            api.put(OrderPart.json, at: 7)
            order = try program.context.model(from: OrderPart.json)
        }

        func move() async throws {
            step += 1
            let (order, part) = (order, OrderPart.allCases[random.below(OrderPart.allCases.count)])
            let name = "n\(String(repeating: "o", count: step))"
            let move = random.below(10)
            log.append("\(move) \(part)")
            switch move {
            case 0..<4:
                let mode = [SaveMode.optimistic, .wait, .queued, .optimistic][random.below(4)]
                log.append("\(mode)")
                calls.append(Task { try? await order.save(mode) { $0.change(part, to: name) } })
                if random.below(3) > 0 { await settle() }
            case 4, 5: order.change(part, to: name)
            case 6: if !order.hasQueuedSaves { order.rollback() }
            case 7: api.answerOnce(StubAPI.Answer(422))
            case 8: api.isOnline.toggle()
            default:
                token = token == nil ? order.observe { _ in } : nil
                for _ in 0..<random.below(30) { await Task.yield() }
            }
        }

        private func settle() async {
            for call in calls { await call.value }
            calls = []
        }

        /// The network is there, the server refuses nothing, and all is saved.
        func end() async throws {
            await settle()
            api.isOnline = true
            api.refuseNothing()
            for _ in 0..<2 {
                try await program.drain(ByHand.Order.self)
                try await order.save(.queued)
            }
            try await program.drain(ByHand.Order.self)
        }
    }

    @Test(arguments: 0..<Effort.rounds(60, soaking: 3000))
    func `the server has the local values of nested objects after random saves`(_ seed: Int) async throws {
        let game = try Game(seed: Effort.seed &+ UInt64(seed))
        for _ in 0..<20 { try await game.move() }
        try await game.end()
        let order = game.order
        let note = Comment(rawValue: "DIAMOND_SEED=\(Effort.seed), \(seed): \(game.log)")
        #expect(game.api.notes[7] == order.json, note)
        #expect(!order.isDirty && order.changedJSON == [:], note)
        #expect(order.lines.allModels.allSatisfy { !$0.isNew }, note)
        let calls = game.api.calls.count
        try await order.save()
        #expect(game.api.calls.count == calls, note)
    }
}
