/// The limits of a lane: the number of its exchanges on the wire at the same time, and whether it keeps the order of
/// its requests.
public struct LaneLimits: Hashable, Sendable {
    /// The greatest number of exchanges on the wire at the same time, at least 1; `nil` for as many as the engine
    /// allows.
    public var width: Int? { didSet { width = width.map { max(1, $0) } } }
    /// Whether a connection starts only when the one that was started before it has finished, even if that one is
    /// answered from the cache, waits, or is paused.
    public var isSerial: Bool

    /// Creates limits. By default a lane is as wide as the engine and keeps no order.
    public init(width: Int? = nil, isSerial: Bool = false) {
        self.width = width.map { max(1, $0) }
        self.isSerial = isSerial
    }

    /// The limits of a lane that sends one request after another, in the order in which they were started.
    public static let serial = LaneLimits(width: 1, isSerial: true)
}

/// The lanes in which no exchange begins.
struct LanePauses: Hashable {
    var lanes: Set<Lane> = []
    /// Whether no exchange begins in any lane.
    var includesAllLanes = false

    var isEmpty: Bool { !includesAllLanes && lanes.isEmpty }

    func contains(_ lane: Lane) -> Bool { includesAllLanes || !lanes.isEmpty && lanes.contains(lane) }

    func union(_ other: LanePauses) -> LanePauses {
        LanePauses(lanes: lanes.union(other.lanes), includesAllLanes: includesAllLanes || other.includesAllLanes)
    }
}
