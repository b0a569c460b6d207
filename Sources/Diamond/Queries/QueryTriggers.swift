/// The events at which an observed query fetches its value again, if the value is stale or the last fetch has failed.
public struct QueryTriggers: OptionSet, Hashable, Sendable {
    public let rawValue: Int

    /// Creates a set from the sum of the raw values of its members.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The network is reachable again (``Engine/Configuration/reachability``).
    public static let networkReturn = QueryTriggers(rawValue: 1)
    /// The app comes to the foreground. On Linux and watchOS, report that with ``Engine/appDidEnterForeground()``.
    public static let foreground = QueryTriggers(rawValue: 2)
    /// Every trigger.
    public static let all: QueryTriggers = [.networkReturn, .foreground]
}

/// The settings of one observer of a query.
struct QuerySettings: Sendable {
    /// The time between two fetches; `nil` for no fetches by time.
    var interval: Duration?
    var triggers: QueryTriggers = .all
}

extension Collection<QuerySettings> {
    /// The shortest interval of the observers, in milliseconds; `nil` if none has one.
    var interval: Int64? { compactMap { $0.interval.map { Swift.max(1, $0.milliseconds) } }.min() }

    func include(_ trigger: QueryTriggers) -> Bool { contains { $0.triggers.contains(trigger) } }
}
