#if Tools
import Diamond
import Foundation

/// The page that lists jobs.
struct JobsPage {
    /// The number of jobs on a page.
    private static let limit = 50
    /// The time that a search for a text may take.
    private static let patience = Duration.milliseconds(150)

    let isWritable: Bool
    let jobs: [JobRow]
    let states: [Choice]
    let fields: [NamedValue]
    let match: String
    let error: String
    let key: String
    let lane: String
    /// The page after this one.
    let nextPath: String?
    /// How far an unfinished search has come.
    let searched: String?
    /// The actions that the states of the listed jobs may allow.
    let actions: [String]

    init(_ page: JobFilter.Page, of query: JobQuery, isWritable: Bool, now: Date = Date()) {
        self.isWritable = isWritable
        let listed = page.jobs.prefix(Self.limit)
        jobs = listed.map { JobRow($0, now: now) }
        states = ReplayState.allCases.map(\.description).map {
            Choice(value: $0, name: $0, isSelected: $0 == query["state"])
        }
        fields = query.fields
        match = query["match"]
        error = query["error"]
        key = query["key"]
        lane = query["lane"]
        let isFull = page.jobs.count > Self.limit
        let end = isFull ? listed.last?.id ?? 0 : page.end
        nextPath = page.isMore ? query.address(after: end) : nil
        searched = page.isMore && !isFull ? "job \(page.end)" : nil
        let states = query.filter.fields.states
        actions = ReplayAction.allCases.filter { states.isEmpty || !$0.allowedStates.isDisjoint(with: states) }
            .map(\.rawValue)
    }

    static let routes = [
        Route.page("/queue/jobs") { request, inspector in
            let query = try JobQuery(request.query)
            let end = ContinuousClock.now + patience
            // One more than is shown says whether there are more.
            let page = try await query.filter.page(
                in: inspector.queue(), after: Int64(request.query["after"]) ?? 0, limit: limit + 1
            ) { ContinuousClock.now > end }
            let value = JobsPage(page, of: query, isWritable: inspector.isWritable)
            return await inspector.page("jobs", title: "Jobs", section: "/queue", value)
        }
    ]
}
#endif
