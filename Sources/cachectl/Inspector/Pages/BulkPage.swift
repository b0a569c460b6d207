#if Tools
import Diamond

/// The page that asks before an action on all jobs that match, and then says what it has done.
struct BulkPage {
    let action: String
    /// `3 jobs`.
    let jobs: String
    let count: String
    let fields: [JobQuery.Field]
    /// The list of the jobs that match.
    let path: String
    /// Whether there is something to confirm.
    let asks: Bool
    /// What was done, or why nothing was.
    let message: String?
    /// The jobs that the action could not change, each with the reason.
    let refusals: [String]

    private init(
        _ bulk: JobBulk, of query: JobQuery, count: Int, asks: Bool, message: String? = nil, refusals: [String] = []
    ) {
        action = bulk.action.rawValue
        jobs = Quantity.jobs(count)
        self.count = String(count)
        fields = query.fields
        path = query.address()
        self.asks = asks && count > 0
        self.message = message
        self.refusals = refusals
    }

    /// Asks about a number of jobs.
    ///
    /// - Parameter confirmed: The number that was confirmed, which is no longer right; `nil` for the first question.
    static func question(_ bulk: JobBulk, of query: JobQuery, count: Int, confirmed: Int? = nil) -> BulkPage {
        let change = confirmed.map { confirmed in
            "The queue has changed meanwhile: you confirmed \(Quantity.jobs(confirmed)), and \(count) match now. "
                + "Nothing was done."
        }
        let none = count == 0 ? "No job that matches is in a state that allows it." : nil
        return BulkPage(bulk, of: query, count: count, asks: true, message: change ?? none)
    }

    /// Reports what an action has done.
    static func report(_ bulk: JobBulk, of query: JobQuery, result: ReplayQueue.BulkResult) -> BulkPage {
        let done = "\(bulk.action.participle) \(Quantity.jobs(result.done.count))"
        let refusals = result.refusals.map { $0.error.message.withoutControls }
        return BulkPage(bulk, of: query, count: result.done.count, asks: false, message: done, refusals: refusals)
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
            let confirmed = Int(request.form["count"])
            guard confirmed == found.count else {
                let value = question(bulk, of: query, count: found.count, confirmed: confirmed)
                return await show(value, in: inspector, status: confirmed == nil ? 200 : 409)
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
