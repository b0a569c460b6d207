/// How many exchanges a lane has on the wire at the same time, and whether they keep their order.
public struct LaneLimits: Hashable, Sendable {
    /// At least 1; `nil` for as many as the engine allows.
    public var width: Int? { didSet { width = width.map { max(1, $0) } } }
    /// Whether a connection starts only when the one that was enqueued before it has finished, also where that one is
    /// answered from the cache, waits, or is paused.
    public var isSerial: Bool

    /// By default as wide as the engine, in no order.
    public init(width: Int? = nil, isSerial: Bool = false) {
        self.width = width.map { max(1, $0) }
        self.isSerial = isSerial
    }

    /// One after another, in the order in which they were enqueued.
    public static let serial = LaneLimits(width: 1, isSerial: true)
}
