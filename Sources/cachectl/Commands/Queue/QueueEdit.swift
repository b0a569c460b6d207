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
        guard let old = try queue.request(of: id) else { throw ReplayError.noJob(id) }
        guard file == nil, isatty(STDIN_FILENO) == 1 else {
            return show(try await edit(from: old).apply(try input(), in: queue))
        }
        try await Editor().edit(Output.text(of: old, isPretty: true) + "\n") { (text) async throws(ReplayError) in
            show(try await edit(from: old, place: "the edited text").apply(text, in: queue))
        }
    }

    private func edit(from old: Request, place: String? = nil) -> JobEdit {
        let input = file.flatMap { $0 == "-" ? nil : $0 } ?? "standard input"
        return JobEdit(id: id, old: old, place: place ?? input)
    }

    private func show(_ result: JobEdit.Result) {
        guard !place.json else { return Output.json(["id": result.job]) }
        if !result.isChanged { Output.note("unchanged") }
        if let note = result.note(editing: id) { Output.note(note) }
        Output.line("\(result.job)")
    }

    private func input() throws(ReplayError) -> Data {
        guard let file, file != "-" else { return (try? FileHandle.standardInput.readToEnd()) ?? Data() }
        guard let data = FileManager.default.contents(atPath: file) else {
            throw ReplayError(.badRequest, "\(file) is not a readable file: give one with a request")
        }
        return data
    }
}
#endif
