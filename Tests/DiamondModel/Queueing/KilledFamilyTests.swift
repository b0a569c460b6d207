import Diamond
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

/// A program that has made a note and three answers to it without a network is killed at random moments, and so are the
/// programs that send its calls.
@Suite("Programs that create several objects, and are killed", .limit(minutes: 3, soaking: 60))
struct KilledFamilyTests {
    private struct Effects: Decodable {
        var texts: [String]
        var changes: [String]
    }

    private struct SavedNote: Decodable {
        var text: String
        var parent: Int?
    }

    private static let names = ["parent", "a", "b", "c"]
    private static let lastStep = 3
    private static let points = [
        "after-claim", "before-send", "after-send", "before-finish", "after-finish", "before-record", "after-record",
        "after-save",
    ]

    /// A note with its answers, and the store of the programs that save them.
    private final class Family {
        let temporary = TemporaryStore()
        let text = UUID().uuidString
        private let server: SampleServer
        /// The number of kills at places in the sending of a job. A third one may make the job poison.
        private var placedKills = 0

        init(_ server: SampleServer) { self.server = server }

        /// Starts the program that makes the notes, or one that only sends calls.
        func start(makesNotes: Bool, fault: String? = nil) throws -> (process: ChildProcess, output: Pipe) {
            let output = Pipe()
            var environment = ProcessInfo.processInfo.environment
            environment["DIAMOND_FAULT"] = fault
            let path = temporary.directory.path
            let process = try ChildProcess(
                BuiltTool("QueueHammer").url,
                makesNotes ? ["family", path, server.base, text] : ["work", path],
                environment: environment, output: .pipe(output))
            return (process, output)
        }

        /// Starts a program and kills it: after a random time, or at a random place.
        func kill(_ random: inout SplitMix) async throws {
            let makesNotes = random.below(3) > 0
            let isPlaced = placedKills < 2 && random.below(3) == 0
            if isPlaced { placedKills += 1 }
            let point = "\(points[random.below(points.count)]):\(1 + random.below(6))"
            let (process, output) = try start(makesNotes: makesNotes, fault: isPlaced ? point : nil)
            // Whatever the place is, the program may not come to it.
            process.kill(after: .milliseconds(.random(in: 20...(isPlaced ? 1_000 : 500), using: &random)))
            _ = await output.readAll()
            _ = await process.ended()
        }
    }

    /// Each note was made once, has its last change and the right parent, and its changes arrived in order.
    private func expectSound(_ server: SampleServer, _ text: String, _ ids: [Substring]) async throws {
        let engine = Engine(Engine.Configuration(store: nil))
        let effects = try await engine.send(Request(server.url("effects"))).decode(Effects.self)
        for (name, id) in zip(Self.names, ids) {
            let note = try await engine.send(Request(server.url("notes/\(id)"))).decode(SavedNote.self)
            #expect(note.text == "\(text)/\(name)/\(Self.lastStep)", "DIAMOND_SEED=\(Effort.seed)")
            #expect(note.parent == (name == "parent" ? nil : Int(ids[0])), "DIAMOND_SEED=\(Effort.seed)")
            let made = effects.texts.filter { $0.hasPrefix("\(text)/\(name)/") }
            #expect(made.count == 1, "DIAMOND_SEED=\(Effort.seed)")
            let changes = effects.changes.filter { $0.hasPrefix("\(text)/\(name)/") }
            #expect(made + changes == (made + changes).sorted(), "a change was overtaken, DIAMOND_SEED=\(Effort.seed)")
        }
        await engine.close()
    }

    /// 30 families in the long form, each with ten kills.
    @Test(arguments: 0..<Effort.rounds(1, soaking: 30))
    func `programs that are killed at any time make each of several objects once, with right ids`(
        _ number: Int
    ) async throws {
        let server = try await SampleServer.shared
        var random = SplitMix(state: Effort.seed &+ UInt64(number))
        let family = Family(server)
        for _ in 0..<10 {
            try Task.checkCancellation()
            try await family.kill(&random)
        }
        let (process, output) = try family.start(makesNotes: true)
        let ids = String(decoding: await output.readAll(), as: UTF8.self).split { $0 == " " || $0 == "\n" }
        #expect(await process.ended() == .exited(0), "DIAMOND_SEED=\(Effort.seed)")
        #expect(ids.count == 4 && ids.allSatisfy { Int($0) != nil }, "\(ids), DIAMOND_SEED=\(Effort.seed)")
        try await expectSound(server, family.text, ids)
    }
}
