/// The retention of ended jobs. Jobs in review, and dead jobs in strict order, stay until a person has decided.
public struct ReplayRetention: Hashable, Sendable {
    /// The maximum age and number of jobs. Once an hour, replayers delete the jobs beyond either, the oldest first.
    public struct Limit: Hashable, Sendable {
        /// The maximum age, in whole milliseconds, from 0 to a hundred years.
        public var age: Duration { didSet { age = age.bounded } }
        /// The maximum number of jobs, from 0 on.
        public var count: Int { didSet { count = max(0, count) } }

        /// Creates a limit from both bounds.
        public init(age: Duration, count: Int) {
            self.age = age.bounded
            self.count = max(0, count)
        }
    }

    /// The limit for done jobs. Default: a day and 10,000 jobs.
    public var done = Limit(age: .seconds(86_400), count: 10_000)
    /// The limit for dead jobs. Default: 180 days and 10,000 jobs, as in Sidekiq and Faktory.
    public var dead = Limit(age: .seconds(180 * 86_400), count: 10_000)

    /// Creates the default retention.
    public init() {}
}
