import Foundation
import HTTPTypes

/// The transfer of a body into a sink.
extension Transfer {
    /// The maximum number of bytes of a response that does not go into the sink. Such a response describes a failure,
    /// and is small.
    static let nonSuccessBodyLimit = 1 << 20

    /// Begins a body in the sink. A body whose announced length exceeds the limit is refused before a byte is read.
    func open(_ head: ReceivedResponse) async throws(TransportError) {
        guard head.isInSink, let sink = exchange.sink else { return }
        // RFC 9110 section 15.3.7.
        let isRequested = head.status != .partialContent || request.headers.contains(.range)
        guard isRequested || !sink.isForWhole else {
            let message = "the server sent a part that was not requested: try again, or request it with Range"
            throw TransportError(.badResponse, message, serverMayHaveActed: true)
        }
        try check(meter.progress.expectedToReceive ?? 0, limit: sink.limit)
        var history = loop.history
        history.recordSuccess(.answered(head.status), startedAt: head.sentAt.date)
        var response = Response(status: head.status, headers: head.headers, url: exchange.context.url)
        response.attempts = history.attempts
        response.facts.decoder = environment.decoder
        response.facts.secrets = head.secrets
        response.cacheStatus = exchange.forwardReason.map { CacheStatus(forwardReason: $0) }
        environment.retryCoordinator.noteHead(of: admission, from: exchange.origin)
        response.cacheStatus?.isStored = await recorder?.open(head) ?? false
        try await sink.begin(response)
    }

    /// Writes a body to the sink. Its transfer cannot be resumed.
    func write(_ body: BodyStream) async throws(TransportError) {
        guard let sink = exchange.sink else { return }
        var count = 0
        var pieces = body.makeAsyncIterator()
        while let piece = try await pieces.next() {
            count += piece.count
            meter.receive(count)
            try check(Int64(count), limit: sink.limit)
            try await sink.append(piece)
            let isStored = await recorder?.append(piece) ?? false
            if !isStored, sink.isForCacheAlone { throw .cancelled(serverMayHaveActed: true) }
        }
    }
}
