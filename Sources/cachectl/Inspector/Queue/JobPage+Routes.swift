#if Tools
import Diamond
import Foundation

extension JobPage {
    static let routes = [
        Route.page("/queue/jobs/{id}") { request, inspector in
            try await show(id(of: request), in: inspector, message: result(request.query, id: id(of: request)))
        },
        Route.action("/queue/jobs/{id}/resend") { request, inspector in
            let id = try id(of: request)
            guard request.form.contains("confirmed") else {
                return try await show(
                    id, in: inspector, problem: "Nothing was done: confirm that the server processes it again.")
            }
            let resend = JobResend(id: id, options: inspector.queueOptions)
            let queue = try await inspector.queue()
            do throws(ReplayError) {
                let new = try await resend.apply(in: queue)
                return .redirect("/queue/jobs/\(new)?added=\(id)")
            } catch {
                guard [.wrongState, .notUnique].contains(error.code) else { throw error }
                return try await show(id, in: inspector, problem: "Nothing was done: \(error.message)")
            }
        },
        Route.action("/queue/jobs/{id}/{action}") { request, inspector in
            let id = try id(of: request)
            guard let action = ReplayAction(rawValue: request.path["action"] ?? "") else {
                throw PageProblem.missing("There is no such action.")
            }
            guard action != .discard || request.form.contains("confirmed") else {
                return try await show(
                    id, in: inspector, problem: "Nothing was done: confirm that the job is discarded.")
            }
            let queue = try await inspector.queue()
            guard let refusal = try await queue.apply(action, to: [id]).refusals.first else {
                return .redirect("/queue/jobs/\(id)?done=\(action.rawValue)")
            }
            guard refusal.error.code != .noJob else { throw refusal.error }
            let why = try JobRefusal(refusal, of: action, queue: queue, options: inspector.queueOptions)
            return try await show(id, in: inspector, problem: "Nothing was done: \(why.message)")
        },
    ]

    /// The job that the path names.
    static func id(of request: PageRequest) throws -> ReplayJob.ID {
        guard let id = request.path["id"].flatMap({ ReplayJob.ID($0) }) else {
            throw PageProblem.missing("A job has a number.")
        }
        return id
    }

    /// The result of the action that led to the page; `nil` for none.
    private static func result(_ query: FormFields, id: ReplayJob.ID) -> String? {
        if let action = ReplayAction(rawValue: query["done"]) { return "\(action.participle) job \(id)" }
        if let old = ReplayJob.ID(query["added"]) { return "this job has the request of job \(old)" }
        guard let edited = ReplayJob.ID(query["edited"]) else { return nil }
        return JobEdit.Result(job: id, isChanged: true).note(editing: edited) ?? "changed job \(id)"
    }

    private static func show(
        _ id: ReplayJob.ID, in inspector: Inspector, message: String? = nil, problem: String? = nil
    ) async throws -> PageResponse {
        let queue = try await inspector.queue()
        guard let job = try queue.job(id) else { throw ReplayError.noJob(id) }
        let request = Result { () throws(ReplayError) in try queue.request(of: id) }
        let text = JobText(
            job: job, request: try? request.get(), failures: try queue.failures(of: id),
            awaited: try job.awaitedJobs.compactMap { try queue.job($0) })
        let value = JobPage(
            text, difference: await difference(of: request, in: inspector),
            refusals: try refusals(of: job, in: queue, options: inspector.queueOptions),
            isWritable: inspector.isWritable, message: problem ?? message, isProblem: problem != nil)
        return await inspector.page(
            "job", title: "Job \(id)", section: "/queue", value, status: problem == nil ? 200 : 409)
    }

    /// Returns the differences of a request and what would be sent now; `nil` without a request.
    private static func difference(
        of request: Result<Request?, ReplayError>, in inspector: Inspector
    ) async -> Result<JobDifference, PageProblem>? {
        do {
            guard let request = try request.get() else { return nil }
            return .success(try await JobDifference(of: request, sentWith: inspector.store.configuration()))
        } catch {
            return .failure(PageProblem(error) ?? PageProblem(message: "It cannot be told what would be sent."))
        }
    }

    /// Returns why the job's state refuses actions.
    private static func refusals(
        of job: ReplayJob, in queue: ReplayQueue, options: String
    ) throws(ReplayError) -> [JobRefusal] {
        var refusals: [JobRefusal] = []
        for action in ReplayAction.allCases where !action.allowedStates.contains(job.state) {
            guard let error = ReplayEffect.wrongState(job.state).error(of: action, on: job.id) else { continue }
            let refusal = ReplayRefusal(id: job.id, error: error)
            refusals.append(try JobRefusal(refusal, of: action, queue: queue, options: options))
        }
        return refusals
    }
}
#endif
