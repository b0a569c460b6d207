import Diamond
import DiamondModel
import Foundation

/// A program with a note and three notes that answer it: it makes them while nothing can be sent, changes each of them,
/// and changes them again while they are sent. Killed at any moment and started again, it comes to the same end.
@MainActor
final class FamilySaver {
    /// What the program knows of a note.
    private struct Piece: Codable {
        /// The last change that was handed to the queue.
        var saved = -1
        var id: ModelID?
    }

    private let program: SavingProgram<[String: Piece]>
    private let text: String
    private let answers: ModelCollection<HammerAnswer>
    private var notes: [String: HammerPiece] = [:]

    /// The names of the notes, the first of which the others answer.
    private static let names = ["parent", "a", "b", "c"]
    /// The last change before anything is sent, and the last of all.
    private static let (first, last) = (1, 3)

    init(_ directory: String, _ base: String, _ text: String) throws {
        HammerNote.base = base
        self.text = text
        program = try SavingProgram(directory, empty: [:])
        answers = ModelCollection(context: program.context)
    }

    func save() async throws {
        try await program.recordSaves { [program] save in
            guard case .string(let text)? = save.changes?["text"] else { return }
            let name = text.hammerName
            try program.write { record in
                record[name, default: Piece()].id = save.serverID ?? record[name]?.id
                record[name, default: Piece()].saved = max(record[name]?.saved ?? -1, text.hammerStep)
            }
        }
        if try hasAll(Self.first) {
            // An earlier run may have been killed before it released the queue.
            try await program.queue.release(.queue)
        } else {
            try await program.queue.hold(.queue)
        }
        try await restore()
        for step in 0...Self.first { try await save(step) }
        try await program.queue.release(.queue)
        let saving = Task {
            for step in (Self.first + 1)...Self.last { try await save(step) }
        }
        try await drain()
        try await saving.value
        try await drain()
        let record = try program.record
        print(Self.names.map { record[$0]?.id?.description ?? "none" }.joined(separator: " "))
    }

    private func hasAll(_ step: Int) throws -> Bool {
        let record = try program.record
        return Self.names.allSatisfy { record[$0]?.saved ?? -1 >= step }
    }

    private func drain() async throws {
        try await program.drain {
            try await program.context.collectSaves(of: HammerNote.self, HammerAnswer.self)
        }
    }

    /// Finds the notes of an earlier run, in the queue or by the record.
    private func restore() async throws {
        let context = program.context
        var found: [HammerPiece] = []
        for save in try await context.collectSaves(of: HammerNote.self, HammerAnswer.self) {
            if let note = save.model as? HammerPiece { found.append(note) }
        }
        found += try await context.queuedModels(HammerNote.self) as [HammerPiece]
        found += try await context.queuedModels(HammerAnswer.self) as [HammerPiece]
        for note in found { notes[note.text.hammerName] = note }
        let record = try program.record
        for name in Self.names where notes[name] == nil {
            guard let piece = record[name], let id = piece.id else { continue }
            let json: JSONValue = ["id": id.json, "text": .string("\(text)/\(name)/\(piece.saved)")]
            notes[name] =
                name == Self.names[0]
                ? try context.model(HammerNote.self, from: json) : try context.model(HammerAnswer.self, from: json)
        }
        guard let parent = notes[Self.names[0]] else { return }
        openAnswers(of: parent)
        for case let answer as HammerAnswer in notes.values { _ = try? answers.add(answer) }
    }

    private func openAnswers(of parent: HammerPiece) {
        let url = "\(HammerNote.base)/notes/\(parent.modelID)/notes?_delay=40"
        answers.source = PageSource(program.engine, Request(url))
    }

    /// Makes a change of each note, unless it was made.
    private func save(_ step: Int) async throws {
        for name in Self.names {
            let saved = try program.record[name]?.saved ?? -1
            guard step > max(saved, notes[name]?.text.hammerStep ?? -1) else { continue }
            let text = "\(text)/\(name)/\(step)"
            if let note = notes[name] {
                try await note.save(.queued) { $0.text = text }
            } else {
                try await create(name, text)
            }
            program.fault.pass("after-save")
            try program.write { $0[name, default: Piece()].saved = max($0[name]?.saved ?? -1, step) }
        }
    }

    private func create(_ name: String, _ text: String) async throws {
        guard let parent = notes[Self.names[0]] as? HammerNote else {
            let parent = HammerNote()
            notes[name] = parent
            try program.context.register(parent)
            try await parent.save(.queued) { $0.text = text }
            return openAnswers(of: parent)
        }
        let answer = HammerAnswer()
        (answer.text, answer.parent) = (text, ParentReference(parent))
        notes[name] = answer
        try await answers.create(answer, .queued)
    }
}

/// A note that answers another one, at a URL below it.
final class HammerAnswer: HammerPiece {
    static let parent: Property<HammerAnswer, ParentReference<HammerNote>> = Property(\.parent, "parent")
    private var _parent = ParentReference<HammerNote>()

    var parent: ParentReference<HammerNote> {
        get { read(Self.parent, from: _parent) }
        set { write(Self.parent, from: _parent, to: newValue) { _parent = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _parent = visitor.visit(Self.parent, with: _parent)
    }
}

extension String {
    /// The name of the note in the text of a change: RUN/NAME/STEP.
    fileprivate var hammerName: String { split(separator: "/").dropLast().last.map(String.init) ?? "" }
}
