#if Tools
import Diamond
import Foundation

/// The page that edits the request of a job before it is replayed.
struct JobEditPage {
    let id: String
    /// The request as it is edited.
    let text: String
    /// The stored request that the edit began with. The edit is a conflict if another one is stored by then.
    let base: String
    /// Why the edited request was not stored.
    let problem: String?
    /// The differences of ``text`` and the request that is stored now, if another program has changed it.
    let changes: [JobPage.DiffLine]
    let isConflict: Bool

    init(id: ReplayJob.ID, text: String, base: String, problem: String? = nil, stored: String? = nil) {
        self.id = String(id)
        self.text = text
        self.base = stored ?? base
        self.problem = problem?.withoutControls
        let other = stored.flatMap { $0 == base ? nil : $0 }
        isConflict = other != nil
        changes = JobPage.DiffLine.all(
            of: other.map { LineDifference(from: Self.lines(of: $0), to: Self.lines(of: text)) })
    }

    private static func lines(of text: String) -> [String] { text.split(whereSeparator: \.isNewline).map(String.init) }

    static let routes = [
        Route.page("/queue/jobs/{id}/edit") { request, inspector in
            let id = try JobPage.id(of: request)
            guard let stored = try await inspector.queue().request(of: id) else { throw ReplayError.noJob(id) }
            let text = Output.text(of: stored, isPretty: true)
            return await show(JobEditPage(id: id, text: text, base: text), in: inspector)
        },
        Route.action("/queue/jobs/{id}/edit") { request, inspector in
            let id = try JobPage.id(of: request)
            let queue = try await inspector.queue()
            // A form has CRLF.
            let text = request.form[text: "request"].replacing("\r\n", with: "\n")
            let base = request.form[text: "base"].replacing("\r\n", with: "\n")
            do throws(ReplayError) {
                let result = try await edit(id, base: base).apply(Data(text.utf8), in: queue)
                return .redirect("/queue/jobs/\(result.job)" + (result.isChanged ? "?edited=\(id)" : ""))
            } catch {
                // Nothing that was typed is lost.
                let isConflict = error.code == .wrongState
                let stored = isConflict ? (try? queue.request(of: id)).map { Output.text(of: $0, isPretty: true) } : nil
                let value = JobEditPage(id: id, text: text, base: base, problem: error.message, stored: stored)
                return await show(value, in: inspector, status: PageProblem(error)?.status ?? 503)
            }
        },
    ]

    private static func edit(_ id: ReplayJob.ID, base: String) throws(ReplayError) -> JobEdit {
        do throws(RequestError) {
            return JobEdit(id: id, old: try Request(json: Data(base.utf8)), place: "the edited text")
        } catch {
            throw ReplayError(.badRequest, "the page does not say which request was edited: open it again")
        }
    }

    private static func show(
        _ value: JobEditPage, in inspector: Inspector, status: Int = 200
    ) async -> PageResponse {
        await inspector.page("job-edit", title: "Edit job \(value.id)", section: "/queue", value, status: status)
    }
}
#endif
