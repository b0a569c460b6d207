import Foundation
import HTTPTypes

/// Answers whose bodies nobody has whole.
extension Pipeline {
    /// Like ``response(to:asker:)``, but for the body of a success, which goes into a sink, and is not stored where it comes
    /// from a server.
    ///
    /// Returns when the body is at its end; until then a request that a server answers has its place on the wire.
    ///
    /// - Parameter asker: for whom; what that one makes of the answer is asked of what is collected behind it alone.
    /// - Returns: where the sink is complete a response without body.
    func pour(
        _ request: Request,
        into sink: any BodySink,
        for asker: Asker = Asker()
    ) async throws(ConnectionError) -> Response {
        let asker = asker.pouring(into: sink)
        do throws(ConnectionError) {
            let response = try await untransformed(request, asker)
            // Who transforms a response looks at its body.
            return sink.isComplete ? response : try await wire.interceptors.transform(response)
        } catch {
            throw await told(error, asker)
        }
    }

    /// Serves what is stored, its body as that of a server: a success into the sink, where there is one.
    ///
    /// - Throws: `unread` where the body cannot be read and nobody has seen its beginning.
    // Not inlined: what few answers need would lie in the frames of all.
    @inline(never)
    func hand(
        _ stored: StoredAnswer,
        from source: Response.Source,
        _ passage: Passage,
        after attempts: [Attempt] = []
    ) async throws(ConnectionError) -> Response {
        guard let sink = passage.asker.sink, let reader = stored.reader.value else {
            return serve(stored.response, from: source, passage, after: attempts)
        }
        return try await pour(stored.response, reader, into: sink, from: source, passage, after: attempts)
    }

    // Nor this.
    @inline(never)
    private func pour(
        _ stored: StoredResponse,
        _ reader: BodyReader,
        into sink: any BodySink,
        from source: Response.Source,
        _ passage: Passage,
        after attempts: [Attempt]
    ) async throws(ConnectionError) -> Response {
        let isSuccess = (200..<300).contains(stored.status)
        var pieces = StoredPieces(passage.wire.method == .head ? nil : reader, self, sink)
        try pieces.check(isSuccess ? sink.limit : Transfer.unpouredLimit)
        // Before anybody hears of it.
        let first = try pieces.next()
        var response = serve(stored, from: source, passage, after: attempts)
        guard isSuccess else {
            response.body = try pieces.rest(behind: first)
            return response
        }
        do throws(TransportError) { try await sink.begin(response) } catch { throw ConnectionError(error) }
        try await pieces.pour(behind: first)
        return response
    }

    /// What is lost with an entry is told where the entry is dropped.
    func report(_ error: CacheError) {
        guard error.code != .entryGone, error.code != .corrupt else { return }
        activity.report(.cacheFailed(reason: error.message))
    }

    /// A body has gone where it was to go.
    func poured(_ arrival: Arrival, _ passage: Passage) -> Response {
        invalidate(after: arrival, passage)
        passage.asker.sink?.complete()
        return response(from: arrival, passage)
    }
}

/// The body of what is stored, on its way into a sink. Nothing is open between two pieces: writers and checkpoints wait for
/// none of them.
private struct StoredPieces {
    private var reader: BodyReader?
    private let pipeline: Pipeline
    private let sink: any BodySink

    /// - Parameter reader: `nil` for no body.
    init(_ reader: BodyReader?, _ pipeline: Pipeline, _ sink: any BodySink) {
        (self.reader, self.pipeline, self.sink) = (reader, pipeline, sink)
    }

    func check(_ limit: Int) throws(ConnectionError) {
        guard reader?.stored.bodySize ?? 0 <= limit else {
            throw ConnectionError(TransportError(bodyLargerThan: limit))
        }
    }

    mutating func next() throws(ConnectionError) -> Data? {
        guard !Task.isCancelled else { throw .cancelled }
        do throws(CacheError) { return try reader?.next() } catch {
            pipeline.report(error)
            let message = "what is stored of the body ends early: \(error.message)"
            throw ConnectionError(sink.isCommitted ? .connectionLost : .unread, message, cause: error)
        }
    }

    mutating func rest(behind first: Data?) throws(ConnectionError) -> Data {
        guard var body = first else { return Data() }
        while let piece = try next() { body.append(piece) }
        return body
    }

    mutating func pour(behind first: Data?) async throws(ConnectionError) {
        var piece = first
        while let bytes = piece {
            do throws(TransportError) { try await sink.append(bytes) } catch { throw ConnectionError(error) }
            piece = try next()
        }
        sink.complete()
    }
}
