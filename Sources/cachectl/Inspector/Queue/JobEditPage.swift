#if Tools
import Diamond
import Foundation

/// The page that edits the request of a job before it is replayed.
struct JobEditPage {
    let id: String
    /// The request as it is edited.
    let text: String
    /// The ``Fingerprint`` of the stored request that the edit began with. The edit is a conflict if another one is
    /// stored by then.
    let base: String
    /// Why the edited request was not stored.
    let problem: String?
    /// The differences of ``text`` and the request that is stored now, if another program has changed it.
    let changes: [JobPage.DiffLine]
    let isConflict: Bool

    /// - Parameter stored: The request that is stored now, if the edit was a conflict.
    init(id: ReplayJob.ID, text: String, base: String, problem: String? = nil, stored: String? = nil) {
        self.id = String(id)
        self.text = text
        self.base = stored.map { Fingerprint.text(of: $0) } ?? base
        self.problem = problem?.withoutControls
        isConflict = self.base != base
        let other = isConflict ? stored : nil
        changes = JobPage.DiffLine.all(
            of: other.map { LineDifference(from: Self.lines(of: $0), to: Self.lines(of: text)) })
    }

    private static func lines(of text: String) -> [String] { text.split(whereSeparator: \.isNewline).map(String.init) }

    static let routes = [
        Route.page("/queue/jobs/{id}/edit") { request, inspector in
            let id = try JobPage.id(of: request)
            let text = try stored(id, in: await inspector.queue()).text
            return await show(JobEditPage(id: id, text: text, base: Fingerprint.text(of: text)), in: inspector)
        },
        Route.action("/queue/jobs/{id}/edit") { request, inspector in
            let id = try JobPage.id(of: request)
            let queue = try await inspector.queue()
            // A form has CRLF.
            let text = request.form[text: "request"].replacing("\r\n", with: "\n")
            do throws(ReplayError) {
                let result = try await edit(id, text, base: request.form["base"], in: queue)
                return .redirect("/queue/jobs/\(result.job)" + (result.isChanged ? "?edited=\(id)" : ""))
            } catch {
                // Nothing that was typed is lost.
                let now = error.code == .wrongState ? try? stored(id, in: queue).text : nil
                let value = JobEditPage(
                    id: id, text: text, base: request.form["base"], problem: error.message, stored: now)
                return await show(value, in: inspector, status: PageProblem(error)?.status ?? 503)
            }
        },
    ]

    /// A request, and its JSON as it is edited.
    private struct Stored {
        let request: Request
        var text: String { Output.text(of: request, isPretty: true) }
    }

    private static func stored(_ id: ReplayJob.ID, in queue: ReplayQueue) throws(ReplayError) -> Stored {
        guard let request = try queue.request(of: id) else { throw .noJob(id) }
        return Stored(request: request)
    }

    private static func edit(
        _ id: ReplayJob.ID, _ text: String, base: String, in queue: ReplayQueue
    ) async throws(ReplayError) -> JobEdit.Result {
        let stored = try stored(id, in: queue)
        guard Fingerprint.text(of: stored.text) == base else {
            throw ReplayError(.wrongState, "job \(id) was changed meanwhile: edit it again")
        }
        let edit = JobEdit(id: id, old: stored.request, place: "the edited text")
        return try await edit.apply(Data(text.utf8), in: queue)
    }

    private static func show(
        _ value: JobEditPage, in inspector: Inspector, status: Int = 200
    ) async -> PageResponse {
        await inspector.page("job-edit", title: "Edit job \(value.id)", section: "/queue", value, status: status)
    }
}
#endif
