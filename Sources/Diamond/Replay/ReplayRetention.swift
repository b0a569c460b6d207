/// How long jobs are kept that have ended. What needs review stays until somebody has decided.
public struct ReplayRetention: Hashable, Sendable {
    /// How old and how many: what is beyond either is forgotten, the oldest first, by replayers, once in an hour.
    public struct Limit: Hashable, Sendable {
        /// Kept in whole milliseconds, from none to a hundred years.
        public var age: Duration { didSet { age = age.bounded } }
        /// At most, from 0 on.
        public var count: Int { didSet { count = max(0, count) } }

        /// Both bounds at once.
        public init(age: Duration, count: Int) { (self.age, self.count) = (age.bounded, max(0, count)) }
    }

    /// A day and 10,000.
    public var done = Limit(age: .seconds(86_400), count: 10_000)
    /// 180 days and 10,000, as Sidekiq and Faktory keep them.
    public var dead = Limit(age: .seconds(180 * 86_400), count: 10_000)

    /// The defaults.
    public init() {}

    func limit(of state: ReplayState) -> Limit { state == .done ? done : dead }
}
