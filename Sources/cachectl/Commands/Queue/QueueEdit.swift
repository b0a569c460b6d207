#if Tools
import ArgumentParser
import Diamond
import Foundation

struct QueueEdit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Replaces the request of a job, and prints the id of the job that has it.",
        discussion: """
            Reads the new request as JSON from FILE or standard input. On a terminal, without FILE, opens the current \
            request in the editor of VISUAL or EDITOR. Keeps the identity and lane if the new request leaves them out, \
            and the replay settings if it has none at all. Refuses to change the identity, lane, ordering key, order \
            or unique name. If the job may have been processed, it stays unchanged, and the new request is added as \
            another job.

            EXAMPLE
              cachectl queue edit 42
            """
    )

    @OptionGroup var place: QueueOptions

    @Argument(help: ArgumentHelp("The job's id.", valueName: "ID"))
    var id: Int64

    @Argument(
        help: ArgumentHelp("A file with a request as JSON, or - for standard input.", valueName: "FILE"),
        completion: .file())
    var file: String?

    func run() async throws {
        let queue = try await place.openQueue()
        guard let old = try queue.request(of: id) else {
            throw ReplayError(.noJob, "there is no job \(id): see 'cachectl queue list'")
        }
        guard file == nil, isatty(STDIN_FILENO) == 1 else {
            return try await replace(old, with: try read(), in: queue)
        }
        try await Editor().edit(Output.text(of: old, isPretty: true) + "\n") { (text) async throws(ReplayError) in
            try await replace(old, with: try read(text, from: "the edited text"), in: queue)
        }
    }

    private func replace(_ old: Request, with request: Request, in queue: ReplayQueue) async throws(ReplayError) {
        let new = request.completed(by: old)
        guard new != old else { return show(id, isChanged: false) }
        show(try await queue.edit(id, from: old, to: new))
    }

    private func show(_ job: Int64, isChanged: Bool = true) {
        guard !place.json else { return Output.json(["id": job]) }
        if !isChanged { Output.note("unchanged") }
        if job != id { Output.note("job \(id) may have been processed: it is unchanged, and the request is a new job") }
        Output.line("\(job)")
    }

    private func read() throws(ReplayError) -> Request {
        guard let file, file != "-" else { return try read(input(), from: "standard input") }
        guard let data = FileManager.default.contents(atPath: file) else {
            throw ReplayError(.badRequest, "\(file) is not a readable file: give one with a request")
        }
        return try read(data, from: file)
    }

    private func input() -> Data { (try? FileHandle.standardInput.readToEnd()) ?? Data() }

    private func read(_ data: Data, from place: String) throws(ReplayError) -> Request {
        do throws(RequestError) {
            return try Request(json: data)
        } catch {
            throw ReplayError(.badRequest, "\(place): \(error.message)")
        }
    }
}

extension Request {
    /// Returns the request, with the identity, lane and replay policy of an older one where it has none.
    fileprivate func completed(by old: Request) -> Request {
        var request = self
        if request.identity == nil { request.identity = old.identity }
        if request.lane == .default { request.lane = old.lane }
        if request.replay == .never { request.replay = old.replay }
        return request
    }
}
#endif
