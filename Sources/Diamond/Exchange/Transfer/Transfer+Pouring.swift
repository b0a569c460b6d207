import Foundation
import HTTPTypes

/// The body of an answer that is not collected.
extension Transfer {
    /// Bytes of an answer at most that a sink does not get: it is there to say why, and is small.
    static let unpouredLimit = 1 << 20

    /// Whether an answer goes into the sink: what is no success is here whole, so that it can be looked at, and sent for
    /// again.
    func isPoured(_ status: HTTPResponse.Status) -> Bool { order.pouring != nil && status.kind == .successful }

    func limit(of head: ReceivedResponse) -> Int {
        guard let pouring = order.pouring else { return order.bodyLimit }
        return head.isPoured ? pouring.sink.limit : min(order.bodyLimit, Self.unpouredLimit)
    }

    /// Also what is announced only: then nothing of it is read.
    func check(_ count: Int64, _ limit: Int) throws(TransportError) {
        guard count <= Int64(limit) else { throw TransportError(bodyLargerThan: limit) }
    }

    /// The answer, its body still on the way.
    func response(within limit: ExchangeAttempt.Limit?) async throws(TransportError) -> TransportResponse {
        guard let limit else { return try await send() }
        let (result, isLate) = await wire.repetitions.clock.limit(limit.rest) {
            await Result { [self] () async throws(TransportError) in try await send() }
        }
        guard isLate else { return try result.get() }
        // A head that comes with the end of its time counts for none: its body is canceled already.
        do throws(TransportError) { _ = try result.get() } catch {
            throw error.code == .cancelled ? TransportError(late: error, limit) : error
        }
        throw TransportError(late: .cancelled(requestMayHaveBeenSent: true), limit)
    }

    private func send() async throws(TransportError) -> TransportResponse {
        try await wire.transport.send(meter.measured(request))
    }

    /// Tells the sink what begins. What is too large by its own word is refused before anything of it has come.
    func open(_ head: ReceivedResponse) async throws(TransportError) {
        guard head.isPoured, let pouring = order.pouring else { return }
        // RFC 9110 section 15.3.7.
        let isAskedFor = head.status != .partialContent || request.headers.contains(.range)
        guard isAskedFor || !pouring.sink.isForWhole else {
            let message = "the server sent a part that nobody has asked for: try again, or ask for it with Range"
            throw TransportError(.badResponse, message, requestMayHaveBeenSent: true)
        }
        try check(meter.progress.expectedToReceive ?? 0, pouring.sink.limit)
        var history = history
        history.recordSuccess(.answered(head.status), startedAt: Date(milliseconds: head.sentAt))
        var response = Response(status: head.status, headers: head.headers, url: pouring.url)
        response.attempts = history.attempts
        wire.repetitions.noteHead(of: admission, from: pouring.origin)
        try await pouring.sink.begin(response)
    }

    /// All of a body that cannot be gone on with.
    func pour(_ body: BodyStream) async throws(TransportError) {
        guard let sink = order.pouring?.sink else { return }
        var (count, pieces) = (0, body.iterator())
        while let piece = try await pieces.next() {
            count += piece.count
            meter.receive(count)
            try check(Int64(count), sink.limit)
            try await sink.append(piece)
        }
    }
}
