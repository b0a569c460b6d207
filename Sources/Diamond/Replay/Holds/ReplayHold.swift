/// What is not to be sent for now, by name, in no process and after no restart, until it is released.
public enum ReplayHold: Hashable, Sendable {
    /// All that the engines of the store send: jobs, connections and calls. What the cache can answer, it does.
    case engine
    /// All jobs.
    case queue
    /// The jobs of an ordering key.
    case key(String)
    /// The jobs on behalf of an identity.
    case identity(String)
    /// The jobs of a lane, and in the engines of the store its connections and calls. What the cache can answer, it does.
    case lane(Lane)

    /// Names compare by their bytes.
    public static func == (one: ReplayHold, other: ReplayHold) -> Bool {
        switch (one, other) {
        case (.engine, .engine), (.queue, .queue): true
        case (.key(let one), .key(let other)), (.identity(let one), .identity(let other)): one.isExactly(other)
        case (.lane(let one), .lane(let other)): one == other
        default: false
        }
    }

    /// Whether it names nothing, and so changes no job: none goes out while it lasts.
    package var isWhole: Bool { self == .engine || self == .queue }

    /// Whether it is about more than jobs.
    var isForEngines: Bool {
        switch self {
        case .engine, .lane: true
        case .queue, .key, .identity: false
        }
    }
}

extension ReplayHold: CustomStringConvertible {
    /// What is held, such as `queue` and `the lane 'images'`.
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
