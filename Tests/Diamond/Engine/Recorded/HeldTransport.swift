import Diamond
import DiamondSQLite
import DiamondTesting
import Foundation
import HTTPTypes

/// A transport that holds every exchange until the test answers it.
final class HeldTransport: Transport {
    /// An exchange on the wire.
    struct Held: Sendable {
        /// In the order of arrival.
        let number: Int
        let request: TransportRequest
        /// The step of the run in which it arrived.
        let step: Int
        /// Whether the head has been sent and the body has not ended.
        var isStreaming = false
    }

    /// The answer to an exchange.
    enum Answer: Sendable {
        case whole(TransportResponse)
        /// A head and a first piece of the body; ``end(_:with:)`` brings the rest.
        case begun(status: Int, headers: HTTPFields, piece: Data, rest: Data)
        case failure(TransportError)
    }

    private typealias Outcome = Result<TransportResponse, TransportError>

    private struct Exchange {
        var held: Held
        var waiter: CheckedContinuation<Outcome, Never>?
        var outcome: Outcome?
        var body: AsyncThrowingStream<Data, any Error>.Continuation?
        var rest = Data()
    }

    private struct State {
        var exchanges: [Int: Exchange] = [:]
        var count = 0
        var changes = 0
        var step = 0
        var isClosed = false
    }

    private let state = Guarded(State())

    /// Exchanges on the wire, in the order of arrival.
    var held: [Held] {
        state.withLock { state in
            state.exchanges.values.filter { $0.outcome == nil || $0.held.isStreaming }.map(\.held)
                .sorted { $0.number < $1.number }
        }
    }

    /// The number of changes.
    var changes: Int { state.withLock { $0.changes } }

    /// Begins the next step of the run.
    func begin(_ step: Int) { state.withLock { $0.step = step } }

    // MARK: Transport

    func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        guard let number = add(request) else {
            throw TransportError(.closed, "the transport is closed", serverMayHaveActed: false)
        }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { wait(for: number, $0) }
        } onCancel: {
            settle(number, .failure(TransportError(.cancelled, "canceled", serverMayHaveActed: true)))
        }
        return try outcome.get()
    }

    func close() async {
        let numbers = state.withLock { state in
            state.isClosed = true
            return state.exchanges.keys.sorted()
        }
        let error = TransportError(.closed, "the transport is closed", serverMayHaveActed: true)
        for number in numbers {
            settle(number, .failure(error))
            end(number, with: error)
        }
    }

    private func add(_ request: TransportRequest) -> Int? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            state.count += 1
            state.changes += 1
            let held = Held(number: state.count, request: request, step: state.step)
            state.exchanges[state.count] = Exchange(held: held)
            return state.count
        }
    }

    private func wait(for number: Int, _ waiter: CheckedContinuation<Outcome, Never>) {
        let known = state.withLock { state -> Outcome? in
            if let outcome = state.exchanges[number]?.outcome {
                if state.exchanges[number]?.held.isStreaming == false { state.exchanges[number] = nil }
                return outcome
            }
            state.exchanges[number]?.waiter = waiter
            return nil
        }
        if let known { waiter.resume(returning: known) }
    }

    // MARK: Answering

    /// Answers an exchange that waits for its head. Without effect on others.
    func answer(_ number: Int, _ answer: Answer) {
        switch answer {
        case .whole(let response): settle(number, .success(response))
        case .failure(let error): settle(number, .failure(error))
        case .begun(let status, let headers, let piece, let rest):
            let (pieces, body) = AsyncThrowingStream<Data, any Error>.makeStream()
            body.yield(piece)
            state.withLock { state in
                state.exchanges[number]?.body = body
                state.exchanges[number]?.rest = rest
                state.exchanges[number]?.held.isStreaming = true
            }
            body.onTermination = { [weak self] _ in self?.forget(number) }
            var response = TransportResponse.stub(status: status, headers: headers)
            response.body = BodyStream(pieces)
            settle(number, .success(response))
        }
    }

    /// Ends a body that has begun: with its rest, or with an error.
    func end(_ number: Int, with error: TransportError? = nil) {
        let (body, rest) = state.withLock { state in
            state.changes += 1
            return (state.exchanges[number]?.body, state.exchanges[number]?.rest ?? Data())
        }
        guard let body else { return }
        if let error { return body.finish(throwing: error) }
        body.yield(rest)
        body.finish()
    }

    private func settle(_ number: Int, _ outcome: Outcome) {
        let waiter = state.withLock { state -> CheckedContinuation<Outcome, Never>? in
            guard state.exchanges[number] != nil, state.exchanges[number]?.outcome == nil else { return nil }
            state.changes += 1
            let waiter = state.exchanges[number]?.waiter
            state.exchanges[number]?.outcome = outcome
            state.exchanges[number]?.waiter = nil
            if waiter != nil, state.exchanges[number]?.held.isStreaming == false { state.exchanges[number] = nil }
            return waiter
        }
        waiter?.resume(returning: outcome)
    }

    private func forget(_ number: Int) {
        state.withLock { state in
            state.changes += 1
            state.exchanges[number] = nil
        }
    }
}
