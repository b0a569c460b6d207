/// An event that a server has sent (HTML living standard, section 9.2.6).
public struct ServerSentEvent: Hashable, Sendable {
    /// What the server calls it; `message` where it says nothing.
    public var type: String
    /// The lines of its data, joined by U+000A.
    public var data: String
    /// The last id that the server has named, with this event or before it; empty where it has named none.
    public var lastEventID: String

    /// For previews and tests.
    public init(type: String = "message", data: String, lastEventID: String = "") {
        self.type = type
        self.data = data
        self.lastEventID = lastEventID
    }
}
