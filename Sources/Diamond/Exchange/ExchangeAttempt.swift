import Foundation
import HTTPTypes

/// One attempt of an exchange, and what came of it.
struct ExchangeAttempt: Sendable {
    private enum End {
        case arrived(Arrival)
        case failed(TransportError, afterHead: Bool)
    }

    let startedAt: Date
    private let end: End

    /// Sends the request, and takes the whole response; counted meanwhile.
    ///
    /// - Parameter limit: how long it may take; `nil` for ever.
    init(
        _ request: TransportRequest,
        over wire: Exchange.Wire,
        limit: Duration?,
        _ meter: TransferMeter
    ) async {
        startedAt = Date(milliseconds: wire.now())
        end = await Self.end(of: request, wire, limit, meter)
    }

    private static func end(
        of request: TransportRequest,
        _ wire: Exchange.Wire,
        _ limit: Duration?,
        _ meter: TransferMeter
    ) async -> End {
        guard let limit else { return await send(request, wire, meter) }
        let (end, isLate) = await wire.repetitions.clock.limit(limit) { await send(request, wire, meter) }
        guard isLate, case .failed(let error, let isAfterHead) = end, error.code == .cancelled else { return end }
        return .failed(TransportError(late: error, limit), afterHead: isAfterHead)
    }

    private static func send(
        _ request: TransportRequest,
        _ wire: Exchange.Wire,
        _ meter: TransferMeter
    ) async -> End {
        let token = wire.activity.begin()
        defer { token.end() }
        let sentAt = wire.now()
        do throws(TransportError) {
            let response = try await wire.transport.send(meter.measured(request))
            meter.arrive(response, to: request)
            return await receive(response, sentAt, wire, meter)
        } catch {
            return .failed(error, afterHead: false)
        }
    }

    private static func receive(
        _ response: TransportResponse,
        _ sentAt: Int64,
        _ wire: Exchange.Wire,
        _ meter: TransferMeter
    ) async -> End {
        let receivedAt = wire.now()
        do throws(TransportError) {
            return .arrived(
                Arrival(
                    status: response.status,
                    headers: response.headers,
                    body: try await response.body.collect(limit: wire.bodyLimit) { meter.receive($0) },
                    sentAt: sentAt,
                    receivedAt: receivedAt
                ))
        } catch {
            return .failed(error, afterHead: true)
        }
    }

    // MARK: What came of it

    var isGood: Bool {
        if case .arrived(let arrival) = end { arrival.status.code < 400 } else { false }
    }

    /// What the decision whether to send again depends on.
    var outcome: RetrySituation.Outcome {
        switch end {
        case .arrived(let arrival): .answered(arrival.status, arrival.headers)
        case .failed(let error, let isAfterHead): .failed(error, afterHead: isAfterHead)
        }
    }

    /// For the history.
    var record: Attempt.Outcome {
        switch end {
        case .arrived(let arrival): .answered(arrival.status)
        case .failed(let error, _): .failed(code: error.code.description, message: error.message)
        }
    }

    /// What the caller gets.
    func arrival(after attempts: [Attempt]) throws(ConnectionError) -> Arrival {
        switch end {
        case .arrived(var arrival):
            arrival.attempts = attempts
            return arrival
        case .failed(let error, _):
            var error = ConnectionError(error)
            error.attempts = attempts
            throw error
        }
    }
}

extension TransportError {
    fileprivate init(late error: TransportError, _ limit: Duration) {
        let message = "the attempt took longer than \(limit.milliseconds) ms: allow it more time in the retry policy"
        self.init(.timedOut, message, requestMayHaveBeenSent: error.requestMayHaveBeenSent)
    }
}
