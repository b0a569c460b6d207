/// A named hold on sending. It applies to all processes and survives restarts, until it is released.
public enum ReplayHold: Hashable, Sendable {
    /// Everything that the store's engines send: jobs, connections and calls. The cache still answers.
    case engine
    /// All jobs.
    case queue
    /// The jobs of an ordering key.
    case key(String)
    /// The jobs of an identity.
    case identity(String)
    /// The jobs of a lane, and its connections and calls in the store's engines. The cache still answers.
    case lane(Lane)

    /// Compares names by their bytes.
    public static func == (one: ReplayHold, other: ReplayHold) -> Bool {
        switch (one, other) {
        case (.engine, .engine), (.queue, .queue): true
        case (.key(let one), .key(let other)), (.identity(let one), .identity(let other)): one.isExactly(other)
        case (.lane(let one), .lane(let other)): one == other
        default: false
        }
    }

    /// Whether the hold covers all jobs. Such a hold does not change the states of jobs, but no job is sent while it
    /// lasts.
    package var isWhole: Bool { self == .engine || self == .queue }

    /// Whether the hold also applies to connections and calls, which engines send.
    var isForEngines: Bool {
        switch self {
        case .engine, .lane: true
        case .queue, .key, .identity: false
        }
    }
}

extension ReplayHold: CustomStringConvertible {
    /// The held part, such as `queue` and `the lane 'images'`.
    public var description: String {
        switch self {
        case .engine: "engine"
        case .queue: "queue"
        case .key(let key): "the ordering key '\(key)'"
        case .identity(let identity): "the identity '\(identity)'"
        case .lane(let lane): "the lane '\(lane)'"
        }
    }
}
