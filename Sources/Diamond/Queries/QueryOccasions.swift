/// The events at which an observed query fetches its value again, if the value is stale or the last fetch has failed.
public struct QueryOccasions: OptionSet, Hashable, Sendable {
    public let rawValue: Int

    /// Creates a set from the sum of the raw values of its members.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The network is reachable again (``Engine/Configuration/reachability``).
    public static let networkReturn = QueryOccasions(rawValue: 1)
    /// The app comes to the foreground. On Linux and watchOS, report that with ``Engine/appDidEnterForeground()``.
    public static let foreground = QueryOccasions(rawValue: 2)
    /// Every occasion.
    public static let all: QueryOccasions = [.networkReturn, .foreground]
}

/// The settings of one observer of a query.
struct QuerySettings: Sendable {
    /// The time between two fetches; `nil` for no fetches by time.
    var interval: Duration?
    var occasions: QueryOccasions = .all
}

extension Collection<QuerySettings> {
    /// The shortest interval of the observers, in milliseconds; `nil` if none has one.
    var interval: Int64? { compactMap { $0.interval.map { Swift.max(1, $0.milliseconds) } }.min() }

    func include(_ occasion: QueryOccasions) -> Bool { contains { $0.occasions.contains(occasion) } }
}
