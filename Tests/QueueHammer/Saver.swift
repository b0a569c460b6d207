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

    private let context: ModelContext
    private let engine: Engine
    private let queue: ReplayQueue
    private let path: URL
    private let text: String
    /// Whether nothing is sent before all is saved.
    private let isHeld: Bool
    private let fault = Fault()

    init(_ directory: String, _ base: String, _ text: String, isHeld: Bool) throws {
        HammerNote.base = base
        (self.text, self.isHeld) = (text, isHeld)
        path = URL(filePath: directory).appending(path: "record.json")
        var configuration = Engine.Configuration(store: Store(directory: URL(filePath: directory)))
        configuration.observers = []
        engine = Engine(configuration)
        context = ModelContext(engine: engine)
        queue = try engine.queue()
    }

    private func record() throws -> Record {
        guard let data = try? Data(contentsOf: path) else { return Record() }
        return try JSONDecoder().decode(Record.self, from: data)
    }

    private func write(_ change: (inout Record) -> Void) throws {
        var record = try record()
        change(&record)
        try JSONEncoder().encode(record).write(to: path, options: .atomic)
    }

    func save() async throws {
        // It is killed often, and that is no fault of the jobs: enough of it would make one poison.
        if fault.isNone { try await queue.allowSuddenTermination(true) }
        context.recordSaves = { [self] saves in
            fault.pass("before-record")
            for save in saves {
                // Not the step of the model: a later change of it may not be in the queue yet.
                let step = HammerNote.step(of: save)
                try write { ($0.id, $0.saved) = (save.serverID ?? $0.id, max($0.saved, step)) }
            }
            fault.pass("after-record")
        }
        if isHeld {
            try await queue.hold(.queue)
        } else {
            // An earlier run may have been killed before it released the queue.
            try await queue.release(.queue)
        }
        let collected = try await context.collectSaves(of: HammerNote.self)
        let waiting = try await context.queuedModels(HammerNote.self)
        let record = try record()
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
            fault.pass("after-save")
            try write { $0.saved = step }
        }
        if isHeld { try await queue.release(.queue) }
        try await first?.value
        try await drain()
        print(try self.record().id?.description ?? "none")
    }

    /// Sends all that waits, at whatever time, and collects the answers.
    private func drain() async throws {
        let replayer = try engine.replayer { [fault] in fault.pass($0.rawValue) }
        while try queue.jobsStoringAnswers().contains(where: { !$0.isConsumed }) {
            for job in try queue.jobs(ReplayFilter(state: .waiting)) { try? await queue.retry(job.id) }
            await replayer.replay()
            try await context.collectSaves(of: HammerNote.self)
        }
    }
}

final class HammerNote: Model {
    nonisolated(unsafe) static var base = ""

    static let id = Property(\HammerNote.id, "id", access: .server)
    static let text = Property(\HammerNote.text, "text")

    private var _id = 0
    private var _text = ""

    var id: Int { read(Self.id, from: _id) }

    var text: String {
        get { read(Self.text, from: _text) }
        set { write(Self.text, from: _text, to: newValue) { _text = $0 } }
    }

    /// The number of the last change in it.
    var step: Int { Self.step(of: text) }

    /// The number of the change that a call has sent.
    static func step(of save: QueuedSave) -> Int {
        guard case .string(let text)? = save.changes?["text"] else { return 0 }
        return step(of: text)
    }

    private static func step(of text: String) -> Int { text.split(separator: "/").last.flatMap { Int($0) } ?? 0 }

    // Long enough for what is to happen while it is answered.
    override class var resource: Request? { Request("\(base)/notes?_delay=60") }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _id = visitor.visit(Self.id, with: _id)
        _text = visitor.visit(Self.text, with: _text)
    }
}
