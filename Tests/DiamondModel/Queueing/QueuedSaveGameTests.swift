import Diamond
import DiamondModel
import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

/// Saves of one object in random order and all at once, while the network comes and goes, the server refuses some, and
/// the program is started again.
@ModelActor
@Suite("Random queued saves", .limit(minutes: 5, soaking: 20)) struct QueuedSaveGameTests {
    @ModelActor
    private final class Game {
        let api = QueuedAPI()
        var random: SplitMix
        var program: QueuedAPI.Program
        var note = Note()
        private var calls: [Task<Void, Never>] = []
        private var step = 0

        init(seed: UInt64) throws {
            random = SplitMix(state: seed)
            program = try api.start()
            try program.context.register(note)
        }

        func move() async throws {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4: save()
            case 4: api.isOnline.toggle()
            case 5:
                let pauses = Int.random(in: 1...40, using: &random)
                api.waitOnce { for _ in 0..<pauses { await Task.yield() } }
            case 6: api.answerOnce(StubAPI.Answer(Bool.random(using: &random) ? 422 : 503))
            case 7:
                let program = program
                calls.append(
                    Task {
                        try? await program.replay()
                        _ = try? await program.context.collectSaves(of: Note.self).count
                    })
            case 8: for _ in 0..<Int.random(in: 1...60, using: &random) { await Task.yield() }
            default: try await restart()
            }
        }

        private func save() {
            step += 1
            let mode = [SaveMode.queued, .queued, .queued, .optimistic, .wait].randomElement(using: &random) ?? .queued
            let (note, step) = (note, step)
            calls.append(
                Task {
                    // A refused save throws, and is rolled back.
                    try? await note.save(mode) { ($0.text, $0.stars) = ("note", step) }
                })
        }

        /// Another run of the program, which knows the note by its record or by the queue.
        private func restart() async throws {
            await settle()
            api.refuseNothing()
            try await note.save(.queued) { $0.text = "note" }
            let record = note.json
            await program.engine.close()
            program = try api.start()
            let collected = try await program.context.collectSaves(of: Note.self)
            var restored = collected.lazy.compactMap { $0.model as? Note }.first
            if restored == nil, note.serverID != nil { restored = try program.context.model(from: record) }
            let waiting = try await program.context.queuedModels(Note.self)
            let stars = note.stars
            note = try #require(restored ?? waiting.first)
            #expect(note.stars == stars)
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
            try await note.save(.queued) { $0.text = "end" }
            try await program.drain(Note.self)
            if note.isDirty || note.isNew { try await note.save(.queued) }
            try await program.drain(Note.self)
        }
    }

    @Test(arguments: 0..<Effort.rounds(30, soaking: 3000))
    func `the server has one object with the local values after random saves`(_ seed: Int) async throws {
        let game = try Game(seed: Effort.seed &+ UInt64(seed))
        for _ in 0..<25 { try await game.move() }
        try await game.end()
        let note = game.note
        #expect(game.api.notes.count == 1, "DIAMOND_SEED=\(Effort.seed), \(seed)")
        #expect(game.api.notes.values.first == note.json, "DIAMOND_SEED=\(Effort.seed), \(seed)")
        #expect(!note.isDirty && !note.isNew && !note.hasQueuedSaves, "DIAMOND_SEED=\(Effort.seed), \(seed)")
        #expect(try game.program.waiting.isEmpty)
    }
}
