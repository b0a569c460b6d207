public import Diamond
import DiamondSQLite
public import Foundation

/// Loads values, such as images, from URLs, and caches decoded values in memory up to a total cost.
///
/// An app has one loader for each kind of value. The engine caches the bytes, except those that cannot be decoded. A
/// value that several callers request at the same time is loaded and decoded once.
///
/// ```swift
/// let images = ResourceLoader(engine, capacity: 64 << 20) { data, _ in try Picture(data) }
/// ```
public final class ResourceLoader<Value: Sendable>: Sendable {
    private struct State {
        var memory: Sieve<ExactText, Value>
        var flights: [ExactText: LoadFlight] = [:]
    }

    private let engine: Engine
    private let request: @Sendable (String) -> Request
    private let cost: @Sendable (Value, Data) -> Int
    private let decode: @Sendable (Data, Response) throws -> Value
    private let state: Guarded<State>

    /// Creates a loader.
    ///
    /// - Parameters:
    ///   - engine: Sends the requests, and caches the bytes.
    ///   - capacity: The maximum total cost of the values in memory. 64 Mi by default: 64 MiB with the default `cost`.
    ///   - request: Returns the request for a URL; a GET by default.
    ///   - cost: Returns the cost of a value: by default the number of encoded bytes. A decoded image takes far more.
    ///   - decode: Decodes a value. Runs outside every actor.
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

    /// Returns the value of a URL from memory; `nil` if it is not there.
    public func existing(_ url: String) -> Value? { state.withLock { $0.memory.use(ExactText(url))?.value } }

    /// Returns the value of a URL from memory, otherwise from the engine. Canceling the last waiting caller cancels the
    /// request.
    ///
    /// - Throws: `ConnectionError`, the error of `decode`, `CancellationError`.
    public func value(of url: String) async throws -> Value {
        if let value = existing(url) { return value }
        let flight = flight(to: url)
        let completion = await flight.completion()
        let key = ExactText(url)
        state.withLock { if $0.flights[key] === flight, flight.isOver { $0.flights[key] = nil } }
        switch completion {
        // The last earlier caller was canceled before this one had joined.
        case .canceled where !Task.isCancelled: return try await value(of: url)
        case .loaded(let payload):
            guard let value = payload as? Value else { throw CancellationError() }
            return value
        case .failed(let error): throw error
        case .canceled, .superseded: throw CancellationError()
        }
    }

    /// Removes the value of a URL from memory. The engine's cached response stays.
    public func removeValue(of url: String) { state.withLock { $0.memory.remove(ExactText(url)) } }

    /// Removes all values from memory, for example after a memory warning.
    public func removeAll() { state.withLock { $0.memory.removeAll() } }

    private func flight(to url: String) -> LoadFlight {
        state.withLock { state in
            if let flight = state.flights[ExactText(url)], !flight.isOver { return flight }
            let flight = LoadFlight(Load(), time: .beginning) { try await self.load(url) }
            state.flights[ExactText(url)] = flight
            return flight
        }
    }

    private func load(_ url: String) async throws -> Value {
        let (value, cost) = try await engine.output(of: request(url)) { [decode, cost] response in
            let value = try decode(response.body, response)
            return (value, cost(value, response.body))
        }
        try Task.checkCancellation()
        state.withLock { $0.memory.insert(value, under: ExactText(url), cost: max(cost, 1)) }
        return value
    }
}
