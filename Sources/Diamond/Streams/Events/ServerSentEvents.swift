import Foundation

/// The sequence of ``Engine/events(_:after:eventLimit:)``.
struct ServerSentEvents: AsyncSequence, Sendable {
    typealias Element = ServerSentEvent
    typealias Failure = ConnectionError

    let source: EventSource

    func makeAsyncIterator() -> EventReader { EventReader(source) }
}

extension AsyncSequence where Element == ServerSentEvent, Self: Sendable {
    /// Returns the data of each event as a value.
    ///
    /// ```swift
    /// for try await price in engine.events(request).decoded(as: Price.self) {
    ///     show(price)
    /// }
    /// ```
    ///
    /// Filter out events that are not to be decoded first. The first event that cannot be decoded ends the sequence
    /// with the ``ConnectionError`` `undecodable`, whose message contains nothing of the event's data.
    ///
    /// - Parameters:
    ///   - type: the type of the values.
    ///   - decoder: the decoder; `nil`, the default, for the engine's.
    public func decoded<Value: Decodable & Sendable>(
        as type: Value.Type,
        using decoder: (any ResponseDecoder)? = nil
    ) -> AsyncThrowingMapSequence<Self, Value> {
        map { event in
            let decoder = decoder ?? event.decoder?.decoder ?? JSONDecoder()
            do { return try decoder.value(of: Value.self, from: Data(event.data.utf8)) } catch {
                let message = "the data of an event '\(event.type)' is no \(Value.self): see the cause"
                throw ConnectionError(.undecodable, message.printable, cause: error)
            }
        }
    }
}

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
