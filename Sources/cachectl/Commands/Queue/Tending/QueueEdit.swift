#if Tools
import ArgumentParser
import Diamond
import Foundation

struct QueueEdit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Puts another request into a job, and prints the id of the job that has it.",
        discussion: """
            The request comes in its written form from FILE, from standard input, or, where that is a terminal, from the \
            editor of VISUAL or EDITOR, which begins with the present one. What it says of no identity, lane or replay \
            stays as it was; another identity, lane, ordering key, order or unique \
            name is refused. Of a job that may have been sent nothing \
            is changed: then the request is added as another job.
            """
    )

    @OptionGroup var place: PlaceOptions

    @Argument(help: ArgumentHelp("The job's id.", valueName: "ID"))
    var id: Int64

    @Argument(help: ArgumentHelp("A file with a request as JSON, or - for standard input.", valueName: "FILE"))
    var file: String?

    func run() async throws {
        let queue = try place.openQueue()
        do throws(ReplayError) {
            guard let old = try queue.request(of: id) else {
                throw ReplayError(.noJob, "there is no job \(id): see 'cachectl queue list'")
            }
            guard file == nil, isatty(STDIN_FILENO) == 1 else { return try await put(try read(), for: old, in: queue) }
            try await Editor().edit(Output.text(of: old, isPretty: true) + "\n") { (text) async throws(ReplayError) in
                try await put(try read(text, "the edited text"), for: old, in: queue)
            }
        } catch {
            throw Failure.report(error)
        }
    }

    private func put(_ request: Request, for old: Request, in queue: ReplayQueue) async throws(ReplayError) {
        let new = request.completed(by: old)
        guard new != old else { return show(id, isChanged: false) }
        show(try await queue.edit(id, from: old, to: new))
    }

    private func show(_ job: Int64, isChanged: Bool = true) {
        guard !place.json else { return Output.json(["id": job]) }
        if !isChanged { Output.note("unchanged") }
        if job != id { Output.note("job \(id) may have been sent, and stays as it is: the request is in another one") }
        Output.line("\(job)")
    }

    private func read() throws(ReplayError) -> Request {
        guard let file, file != "-" else { return try read(input(), "standard input") }
        guard let data = FileManager.default.contents(atPath: file) else {
            throw ReplayError(.badRequest, "\(file) is not a readable file: give one with a request")
        }
        return try read(data, file)
    }

    private func input() -> Data { (try? FileHandle.standardInput.readToEnd()) ?? Data() }

    private func read(_ data: Data, _ place: String) throws(ReplayError) -> Request {
        do throws(RequestError) {
            return try Request(json: data)
        } catch {
            throw ReplayError(.badRequest, "\(place): \(error.message)")
        }
    }
}

extension Request {
    /// With what it does not say of an older one.
    fileprivate func completed(by old: Request) -> Request {
        var request = self
        if request.identity == nil { request.identity = old.identity }
        if request.lane == .default { request.lane = old.lane }
        if request.replay == .never { request.replay = old.replay }
        return request
    }
}
#endif
