public import Foundation

/// The events that a server sends, through as many connections as that takes (HTML living standard, section 9.2).
///
/// Made by `Engine.events`. Each iteration is a connection of its own, opened when its first event is asked for, and ended
/// when it is dropped or its task is canceled.
public struct ServerSentEvents: AsyncSequence, Sendable {
    public typealias Element = ServerSentEvent
    public typealias Failure = ConnectionError

    private let source: EventSource

    init(_ source: EventSource) { self.source = source }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var reader: EventReader

        /// The next event; `nil` where the server has said that there are no more.
        public mutating func next() async throws(ConnectionError) -> ServerSentEvent? { try await reader.next() }
    }

    public func makeAsyncIterator() -> Iterator { Iterator(reader: EventReader(source)) }
}

extension AsyncSequence where Element == ServerSentEvent, Self: Sendable {
    /// The data of each event as a value.
    ///
    /// ```swift
    /// for try await price in engine.events(request).decoded(as: Price.self) {
    ///     show(price)
    /// }
    /// ```
    ///
    /// What is not to be decoded, filter out before. The first event that cannot be decoded ends the sequence with the
    /// ``ConnectionError`` `undecodable`, whose message tells nothing of what the event holds.
    public func decoded<Value: Decodable & Sendable>(
        as type: Value.Type,
        using decoder: any ResponseDecoder = JSONDecoder()
    ) -> AsyncThrowingMapSequence<Self, Value> {
        map { event in
            do { return try decoder.decode(Value.self, from: Data(event.data.utf8)) } catch {
                let message = "the data of an event '\(event.type)' is no \(Value.self): see the cause"
                throw ConnectionError(.undecodable, message.printable, cause: error)
            }
        }
    }
}
