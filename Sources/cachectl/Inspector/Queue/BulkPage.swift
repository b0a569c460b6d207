#if Tools
import Diamond

/// The page that asks before an action on all jobs that match, and then says what it has done.
struct BulkPage {
    let action: String
    /// `3 jobs`.
    let jobs: String
    /// The first and the last job; `nil` if there are not several.
    let range: String?
    /// The ``Fingerprint`` of the jobs.
    let fingerprint: String
    let fields: [NamedValue]
    /// The list of the jobs that match.
    let path: String
    /// Whether there is something to confirm.
    let asks: Bool
    /// The outcome in a sentence; `nil` before there is one.
    let message: String?
    /// The jobs that the action could not change, each with the reason.
    let refusals: [String]

    private init(
        _ bulk: JobBulk, of query: JobQuery, jobs ids: [ReplayJob.ID], asks: Bool, message: String? = nil,
        refusals: [String] = []
    ) {
        action = bulk.action.rawValue
        jobs = Quantity.jobs(ids.count)
        range = ids.count > 1 ? "The first one is job \(ids[0]), the last one job \(ids[ids.count - 1])." : nil
        fingerprint = Fingerprint.text(of: ids)
        fields = query.fields
        path = query.address()
        self.asks = asks && !ids.isEmpty
        self.message = message
        self.refusals = refusals
    }

    /// Asks about jobs.
    ///
    /// - Parameter isChanged: Whether other jobs were confirmed.
    static func question(
        _ bulk: JobBulk, of query: JobQuery, jobs ids: [ReplayJob.ID], isChanged: Bool
    ) -> BulkPage {
        let change =
            isChanged
            ? "The queue has changed meanwhile: the jobs that match now are not those that you confirmed. "
                + "Nothing was done." : nil
        let none = ids.isEmpty ? "No job that matches is in a state that allows it." : nil
        return BulkPage(bulk, of: query, jobs: ids, asks: true, message: change ?? none)
    }

    /// Reports what an action has done.
    static func report(_ bulk: JobBulk, of query: JobQuery, result: ReplayQueue.BulkResult) -> BulkPage {
        let done = "\(bulk.action.participle) \(Quantity.jobs(result.done.count))"
        let refusals = result.refusals.map { $0.error.message.withoutControls }
        return BulkPage(bulk, of: query, jobs: result.done, asks: false, message: done, refusals: refusals)
    }

    static let routes = [
        Route.action("/queue/bulk") { request, inspector in
            let query = try JobQuery(request.form)
            guard let action = ReplayAction(rawValue: request.form["action"]) else {
                throw PageProblem(message: "There is no such action.")
            }
            let bulk = JobBulk(action: action, filter: query.filter)
            let queue = try await inspector.queue()
            let found = try await bulk.preview(in: queue).done
            let isConfirmed = request.form.contains("jobs")
            guard isConfirmed, request.form["jobs"] == Fingerprint.text(of: found) else {
                let value = question(bulk, of: query, jobs: found, isChanged: isConfirmed)
                return await show(value, in: inspector, status: isConfirmed ? 409 : 200)
            }
            let result = try await bulk.apply(to: found, in: queue)
            return await show(report(bulk, of: query, result: result), in: inspector)
        }
    ]

    private static func show(
        _ value: BulkPage, in inspector: Inspector, status: Int = 200
    ) async -> PageResponse {
        await inspector.page("bulk", title: "All jobs that match", section: "/queue", value, status: status)
    }
}
#endif
