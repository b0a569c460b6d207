public import Diamond
import DiamondSQLite
public import Foundation

/// Loads values, such as images, from URLs, and keeps a bounded number of them decoded in memory.
///
/// An app has one for each kind of value. The bytes are in the engine's cache; those that cannot be decoded are not stored
/// there. Values that are asked for by several at a time are loaded and decoded once.
///
/// ```swift
/// let images = ResourceLoader(engine, capacity: 64 << 20) { data, _ in try Picture(data) }
/// ```
public final class ResourceLoader<Value: Sendable>: Sendable {
    private struct State {
        var memory: Sieve<String, Value>
        var flights: [String: LoadFlight] = [:]
    }

    private let engine: Engine
    private let request: @Sendable (String) -> Request
    private let cost: @Sendable (Value, Data) -> Int
    private let decode: @Sendable (Data, Response) throws -> Value
    private let state: Guarded<State>

    /// Creates a loader.
    ///
    /// - Parameters:
    ///   - engine: sends the requests, and has the cache of the bytes.
    ///   - capacity: the cost of all values that are kept in memory, by default in bytes; 64 MiB.
    ///   - request: returns the request for a URL; a GET by default.
    ///   - cost: returns the cost of a value; the number of its encoded bytes by default, which of an image are far fewer than
    ///     it has in memory.
    ///   - decode: makes a value of the bytes. Runs outside every actor.
    public init(
        _ engine: Engine, capacity: Int = 64 << 20,
        request: @escaping @Sendable (String) -> Request = { Request($0) },
        cost: @escaping @Sendable (Value, Data) -> Int = { $1.count },
        decode: @escaping @Sendable (Data, Response) throws -> Value
    ) {
        self.engine = engine
        self.request = request
        self.cost = cost
        self.decode = decode
        state = Guarded(State(memory: Sieve(capacity: capacity)))
    }

    /// Returns the value of a URL that is in memory; `nil` when it is not.
    public func existing(_ url: String) -> Value? { state.withLock { $0.memory.use(url)?.value } }

    /// Returns the value of a URL: from memory, or else from the engine. When the last of those who wait has been canceled,
    /// so is the request.
    ///
    /// - Throws: `ConnectionError`, what `decode` throws, `CancellationError`.
    public func value(of url: String) async throws -> Value {
        if let value = existing(url) { return value }
        let flight = flight(to: url)
        let outcome = await flight.outcome()
        state.withLock { if $0.flights[url] === flight, flight.isOver { $0.flights[url] = nil } }
        switch outcome {
        // Its last caller was canceled before this one was there.
        case .canceled where !Task.isCancelled: return try await value(of: url)
        case .loaded(let payload):
            guard let value = payload as? Value else { throw CancellationError() }
            return value
        case .failed(let error): throw error
        case .canceled, .superseded: throw CancellationError()
        }
    }

    /// Forgets the value of a URL that is in memory. What the engine has of it stays.
    public func forget(_ url: String) { state.withLock { $0.memory.remove(url) } }

    /// Forgets all values that are in memory, as when the system asks for it.
    public func removeAll() { state.withLock { $0.memory.removeAll() } }

    private func flight(to url: String) -> LoadFlight {
        state.withLock { state in
            if let flight = state.flights[url], !flight.isOver { return flight }
            let flight = LoadFlight(Load(), time: 0) { try await self.load(url) }
            state.flights[url] = flight
            return flight
        }
    }

    private func load(_ url: String) async throws -> Value {
        let (value, cost) = try await engine.output(of: request(url)) { [decode, cost] response in
            let value = try decode(response.body, response)
            return (value, cost(value, response.body))
        }
        try Task.checkCancellation()
        state.withLock { $0.memory.insert(value, under: url, cost: max(cost, 1)) }
        return value
    }
}
