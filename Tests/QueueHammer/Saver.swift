import Diamond
import DiamondModel
import Foundation

/// A program with one note: it makes the note and changes it twice, by saves that are queued, and has its own record of
/// that. Killed at any moment and started again, it comes to the same end.
@MainActor
final class Saver {
    /// What the program knows of its note.
    private struct Record: Codable {
        /// The last change that was handed to the queue.
        var saved = 0
        var id: ModelID?
    }

    private let program: SavingProgram<Record>
    private let text: String
    /// Whether nothing is sent before all is saved.
    private let isHeld: Bool

    init(_ directory: String, _ base: String, _ text: String, isHeld: Bool) throws {
        HammerNote.base = base
        (self.text, self.isHeld) = (text, isHeld)
        program = try SavingProgram(directory, empty: Record())
    }

    func save() async throws {
        let (context, queue) = (program.context, program.queue)
        try await program.recordSaves { [program] save in
            // Not the step of the model: a later change of it may not be in the queue yet.
            let step = HammerNote.step(of: save)
            try program.write { ($0.id, $0.saved) = (save.serverID ?? $0.id, max($0.saved, step)) }
        }
        if isHeld {
            try await queue.hold(.queue)
        } else {
            // An earlier run may have been killed before it released the queue.
            try await queue.release(.queue)
        }
        let collected = try await context.collectSaves(of: HammerNote.self)
        let waiting = try await context.queuedModels(HammerNote.self)
        let record = try program.record
        var first: Task<Void, any Error>?
        let note: HammerNote
        if let known = waiting.first ?? collected.lazy.compactMap({ $0.model as? HammerNote }).first {
            note = known
        } else if let id = record.id {
            note = try context.model(from: ["id": id.json, "text": ""])
        } else {
            note = HammerNote()
            try context.register(note)
            // The changes come while the call that makes it is under way.
            first = Task { try await note.save(.queued) { [text] in $0.text = "\(text)/0" } }
            // Its job may have ended before it is seen to run.
            while !isHeld, try queue.jobs().allSatisfy({ $0.state == .ready }) { await Task.yield() }
            if isHeld { try await first?.value }
        }
        for step in 1...2 where step > max(record.saved, note.step) {
            try await note.save(.queued) { [text] in $0.text = "\(text)/\(step)" }
            program.fault.pass("after-save")
            try program.write { $0.saved = step }
        }
        if isHeld { try await queue.release(.queue) }
        try await first?.value
        try await program.drain { try await context.collectSaves(of: HammerNote.self) }
        print(try program.record.id?.description ?? "none")
    }
}

class HammerPiece: Model {
    static let id: Property<HammerPiece, Int> = Property(\.id, "id", access: .server)
    static let text: Property<HammerPiece, String> = Property(\.text, "text")

    private var _id = 0
    private var _text = ""

    var id: Int { read(HammerPiece.id, from: _id) }

    var text: String {
        get { read(HammerPiece.text, from: _text) }
        set { write(HammerPiece.text, from: _text, to: newValue) { _text = $0 } }
    }

    /// The number of the last change in it.
    var step: Int { text.hammerStep }

    /// The number of the change that a call has sent.
    static func step(of save: QueuedSave) -> Int {
        guard case .string(let text)? = save.changes?["text"] else { return 0 }
        return text.hammerStep
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _id = visitor.visit(HammerPiece.id, with: _id)
        _text = visitor.visit(HammerPiece.text, with: _text)
    }
}

final class HammerNote: HammerPiece {
    nonisolated(unsafe) static var base = ""

    // Long enough for what is to happen while it is answered.
    override class var resource: Request? { Request("\(base)/notes?_delay=60") }
}

extension String {
    /// The number of a change in the text that it has written.
    var hammerStep: Int { split(separator: "/").last.flatMap { Int($0) } ?? 0 }
}
