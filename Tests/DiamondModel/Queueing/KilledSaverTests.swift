import Diamond
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

/// A program with queued saves is killed between a response, its storing and the new id. The server counts its effects.
@Suite("A program with queued saves that is killed", .limit(minutes: 3, soaking: 30))
struct KilledSaverTests {
    private struct Effects: Decodable {
        var texts: [String]
        var changes: [String]
    }

    private struct SavedNote: Decodable {
        var text: String
    }

    private let temporary = TemporaryStore()
    private let text = UUID().uuidString

    private func saver(
        _ server: SampleServer, isHeld: Bool, fault: String? = nil
    ) throws -> (process: ChildProcess, output: Pipe) {
        let output = Pipe()
        var environment = ProcessInfo.processInfo.environment
        environment["DIAMOND_FAULT"] = fault
        let process = try ChildProcess(
            BuiltTool("QueueHammer").url,
            ["save", temporary.directory.path, server.base, text, isHeld ? "held" : "live"],
            environment: environment, output: .pipe(output))
        return (process, output)
    }

    private func killed(_ server: SampleServer, isHeld: Bool, at point: String) async throws -> ChildProcess.Ending {
        let (process, output) = try saver(server, isHeld: isHeld, fault: point)
        _ = await output.readAll()
        return await process.ended()
    }

    /// One note was made, it has the last change, and the program knows its id.
    private func expectSound(_ server: SampleServer, _ id: String) async throws {
        let engine = Engine(Engine.Configuration(store: nil))
        let effects = try await engine.send(Request(server.url("effects"))).decode(Effects.self)
        let note = try await engine.send(Request(server.url("notes/\(id)"))).decode(SavedNote.self)
        await engine.close()
        #expect(effects.texts.count { $0.hasPrefix(text) } == 1)
        #expect(note.text == "\(text)/2")
        let changes = effects.changes.filter { $0.hasPrefix(text) }
        #expect(changes == changes.sorted(), "a change was overtaken by an earlier one")
    }

    private func finish(_ server: SampleServer, isHeld: Bool) async throws {
        let (process, output) = try saver(server, isHeld: isHeld)
        let id = String(decoding: await output.readAll(), as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(await process.ended() == .exited(0))
        try await expectSound(server, id)
    }

    @Test(
        arguments: [
            "after-claim", "before-send", "after-send", "before-finish", "after-finish", "before-record",
            "after-record",
            "after-save", "after-save:2",
        ], [false, true])
    func `a program that is killed at a given point loses no save, and creates no object twice`(
        _ point: String, _ isHeld: Bool
    ) async throws {
        let server = try await SampleServer.shared
        let point = point.contains(":") ? point : "\(point):1"
        // If the calls are sent in the foreground, the replayer may have nothing to send, and is not killed.
        let end = try await killed(server, isHeld: isHeld, at: point)
        #expect(end == .killed(by: SIGKILL) || (!isHeld && end == .exited(0)))
        try await finish(server, isHeld: isHeld)
    }

    @Test func `a program that is killed at any time loses no save, and creates no object twice`() async throws {
        let server = try await SampleServer.shared
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Effort.rounds(5, soaking: 60) {
            try Task.checkCancellation()
            let (process, output) = try saver(server, isHeld: Bool.random(using: &random))
            process.kill(after: .milliseconds(.random(in: 20...400, using: &random)))
            _ = await output.readAll()
            _ = await process.ended()
        }
        try await finish(server, isHeld: false)
    }
}
