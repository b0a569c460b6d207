import Diamond
import DiamondModel
import Foundation

/// What a killed program with queued saves needs: an engine over a directory, and a record of its own in a file.
@MainActor
final class SavingProgram<Record: Codable> {
    let context: ModelContext
    let engine: Engine
    let queue: ReplayQueue
    let fault = Fault()
    private let path: URL
    private let empty: Record

    init(_ directory: String, empty: Record) throws {
        self.empty = empty
        path = URL(filePath: directory).appending(path: "record.json")
        var configuration = Engine.Configuration(store: Store(directory: URL(filePath: directory)))
        configuration.observers = []
        engine = Engine(configuration)
        context = ModelContext(engine: engine)
        queue = try engine.queue()
    }

    var record: Record {
        get throws {
            guard let data = try? Data(contentsOf: path) else { return empty }
            return try JSONDecoder().decode(Record.self, from: data)
        }
    }

    func write(_ change: (inout Record) -> Void) throws {
        var record = try record
        change(&record)
        try JSONEncoder().encode(record).write(to: path, options: .atomic)
    }

    /// Records each answer before the queue forgets it.
    func recordSaves(_ record: @escaping (QueuedSave) throws -> Void) async throws {
        // It is killed often, and that is no fault of the jobs: enough of it would make one poison.
        if fault.isNone { try await queue.allowSuddenTermination(true) }
        context.recordSaves = { [fault] saves in
            fault.pass("before-record")
            for save in saves { try record(save) }
            fault.pass("after-record")
        }
    }

    /// Sends all that waits, at whatever time, and collects the answers.
    func drain(_ collect: () async throws -> Void) async throws {
        let replayer = try engine.replayer { [fault] in fault.pass($0.rawValue) }
        while try queue.jobsStoringAnswers().contains(where: { !$0.isConsumed }) {
            for job in try queue.jobs(ReplayFilter(states: [.waiting])) { try? await queue.retry(job.id) }
            await replayer.replay()
            try await collect()
        }
    }
}
