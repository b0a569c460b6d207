import Diamond
import Foundation

extension Client {
    /// Sends a note, or queues it if it cannot be sent now.
    func add(_ text: String, to city: Int) async throws {
        let call = AddNote(author: try user(), city: city, text: text)
        switch try await engine.submit(call) {
        case .sent(let note): Terminal.line("sent as note \(note.id)")
        case .queued(let job): Terminal.line("queued as job \(job.id), \(try reason(for: job))")
        }
    }

    /// Prints the notes of the server, or the stored ones, and then those that wait in the queue.
    func notes(on city: Int?) async throws {
        let waiting = try jobs().map(\.note).filter { city == nil || $0.city == city }
        for note in try await output(of: ListNotes(city: city)) { Terminal.line("\(note.id)\t\(note.text)") }
        for note in waiting { Terminal.line("-\t\(note.text)") }
    }

    /// Prints the queued notes with their states.
    func outbox() throws {
        for (job, note) in try jobs() {
            Terminal.line("\(job.id)\t\(job.state)\t\(note.text)\t\(try reason(for: job))")
        }
    }

    /// Sends the queued notes in order, at once.
    func sync() async throws {
        _ = try user()
        engine.onReplay(AddNote.self) { job, result in
            switch result {
            case .success(let note): await Terminal.line("job \(job) is sent as note \(note.id)")
            case .failure(let error): await Terminal.line("job \(job) failed: \(error.message)")
            }
        }
        let summary = try await engine.replayer().replay(until: .now + 60, ignoringBackoff: true)
        if let error = summary.error { throw error }
        Terminal.line("\(summary.finished) sent, \(try jobs().count) in the outbox")
    }

    /// The user's notes that are not sent.
    private func jobs() throws -> [(job: ReplayJob, note: AddNote)] {
        let open = Set(ReplayState.allCases).subtracting([.done])
        return try engine.queue().jobs(ReplayFilter(states: open, identity: user()), limit: 1000).compactMap { job in
            try job.call(as: AddNote.self).map { (job, $0) }
        }
    }

    /// The reason why a job was not sent.
    private func reason(for job: ReplayJob) throws -> String {
        if let failure = try engine.queue().failures(of: job.id).last { return failure.message }
        return job.state == .ready ? "it waits for earlier notes" : "\(job.reason)"
    }
}
