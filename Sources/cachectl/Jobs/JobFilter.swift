#if Tools
import Diamond

/// A filter of jobs that also looks for texts, which no queue has an index for.
struct JobFilter {
    /// A page of jobs that match.
    struct Page {
        var jobs: [ReplayJob] = []
        /// The last job that was tested.
        var end: ReplayJob.ID
        /// Whether there may be more jobs that match.
        var isMore = false
    }

    var fields = ReplayFilter(includesSignedOut: true)
    /// A text in the URL.
    var match: TextPattern?
    /// A text in the code or message of the last failed attempt.
    var error: TextPattern?

    /// Whether each job has to be tested. The queue knows the other conditions.
    var needsTest: Bool { match != nil || error != nil }

    /// Returns the jobs of a queue that match, in the order in which they were added.
    func jobs(in queue: ReplayQueue, after id: ReplayJob.ID = 0, limit: Int = 100) throws(ReplayError) -> [ReplayJob] {
        try page(in: queue, after: id, limit: limit).jobs
    }

    /// Returns the jobs of a queue that match, in the order in which they were added.
    ///
    /// - Parameter isOver: Whether to end the search with the jobs found so far. Asked after each job.
    func page(
        in queue: ReplayQueue, after id: ReplayJob.ID, limit: Int, unless isOver: () -> Bool = { false }
    ) throws(ReplayError) -> Page {
        var page = Page(end: id)
        while true {
            let size = needsTest ? Self.batchSize : min(Self.batchSize, limit - page.jobs.count)
            let tested = try queue.jobs(fields, after: page.end, limit: size)
            for job in tested {
                if try includes(job, of: queue) { page.jobs.append(job) }
                page.end = job.id
                page.isMore = page.jobs.count == limit || isOver()
                if page.isMore { return page }
            }
            if tested.count < size { return page }
        }
    }

    private static let batchSize = 500

    private func includes(_ job: ReplayJob, of queue: ReplayQueue) throws(ReplayError) -> Bool {
        guard match?.matches(job.url) ?? true else { return false }
        guard let error else { return true }
        guard let failure = try queue.failures(of: job.id).last else { return false }
        return error.matches(failure.code) || error.matches(failure.message)
    }
}
#endif
