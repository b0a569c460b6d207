import Foundation

/// The events that a server sends, through as many connections as needed (HTML living standard, section 9.2).
///
/// Made by ``Engine/events(_:after:eventLimit:)``. Iterations share no connection. An iteration connects when its first
/// event is requested, and again when a connection ends. It ends when the iterator is dropped, when its task is
/// canceled, or when the server has said that there are no more events. It throws ``ConnectionError``.
public struct ServerSentEvents: AsyncSequence, Sendable {
    public typealias Element = ServerSentEvent
    public typealias Failure = ConnectionError

    private let source: EventSource

    init(_ source: EventSource) { self.source = source }

    @_documentation(visibility: internal)
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var reader: EventReader

        public mutating func next() async throws(ConnectionError) -> ServerSentEvent? { try await reader.next() }
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(reader: EventReader(source))
    }
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
