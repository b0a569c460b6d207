/// What is not to be sent for now, by name.
public enum ReplayHold: Hashable, Sendable {
    /// Everything.
    case queue
    /// An ordering key.
    case key(String)
    case identity(String)
    case lane(Lane)
}
