/// An event that a server has sent (HTML living standard, section 9.2.6).
public struct ServerSentEvent: Hashable, Sendable {
    /// The type that the server gives it; `message` if it gives none.
    public var type: String
    /// The lines of its data, joined by U+000A.
    public var data: String
    /// The last id that the server has named, with this event or before it; empty if it has named none.
    public var lastEventID: String
    /// The decoder of the engine that has received the event.
    @NotCompared var decoder: SharedDecoder?

    /// Creates an event for previews and tests.
    public init(type: String = "message", data: String, lastEventID: String = "") {
        self.type = type
        self.data = data
        self.lastEventID = lastEventID
    }
}
