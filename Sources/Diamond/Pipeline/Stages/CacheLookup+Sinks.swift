import Foundation
import HTTPTypes

extension CacheLookup {
    /// The end of serving a stored response.
    enum Served {
        case response(Response)
        /// The body cannot be read, and the caller has seen nothing of it.
        case unreadable(CacheError)
    }

    /// Serves a stored response, as a server's response is served: the body of a success goes into the caller's sink, where
    /// there is one.
    // Not inlined, to keep the async frames of waiting callers small.
    @inline(never)
    func serve(
        _ stored: StoredCandidate,
        _ source: Response.Source,
        for context: RequestContext,
        after attempts: [Attempt] = []
    ) async throws(ConnectionError) -> Served {
        guard let sink = context.caller.sink, let reader = stored.reader.value else {
            return .response(response(from: stored.response, source, for: context.resolved, after: attempts))
        }
        let body = context.wire.method == .head ? nil : reader
        return try await stream(stored.response, body, into: sink, source, for: context, after: attempts)
    }

    @inline(never)
    private func stream(
        _ stored: StoredResponse,
        _ reader: BodyReader?,
        into sink: any BodySink,
        _ source: Response.Source,
        for context: RequestContext,
        after attempts: [Attempt]
    ) async throws(ConnectionError) -> Served {
        let isSuccess = (200..<300).contains(stored.status)
        var body = StoredBodyStream(reader, sink: sink, report: report)
        try body.check(isSuccess ? sink.limit : Transfer.unpouredLimit)
        do throws(StoredBodyStream.Failure) {
            // Before the caller hears of it.
            let first = try body.next()
            var response = response(from: stored, source, for: context.resolved, after: attempts)
            guard isSuccess else {
                response.body = try body.rest(after: first)
                return .response(response)
            }
            do throws(TransportError) { try await sink.begin(response) } catch {
                throw .failed(ConnectionError(error))
            }
            try await body.stream(from: first)
            return .response(response)
        } catch {
            switch error {
            case .failed(let error): throw error
            case .unreadable(let error): return .unreadable(error)
            }
        }
    }
}

/// The stored body on its way into a sink. Between two pieces nothing is open that a writer or a checkpoint waits for.
private struct StoredBodyStream {
    enum Failure: Error {
        case failed(ConnectionError)
        /// Nothing of the body has gone to the caller.
        case unreadable(CacheError)
    }

    /// `nil` for no body.
    private var reader: BodyReader?
    private let sink: any BodySink
    private let report: (CacheError) -> Void

    init(_ reader: BodyReader?, sink: any BodySink, report: @escaping (CacheError) -> Void) {
        self.reader = reader
        self.sink = sink
        self.report = report
    }

    func check(_ limit: Int) throws(ConnectionError) {
        guard reader?.stored.bodySize ?? 0 <= limit else {
            throw ConnectionError(TransportError(bodyLargerThan: limit))
        }
    }

    mutating func next() throws(Failure) -> Data? {
        guard !Task.isCancelled else { throw .failed(.cancelled) }
        do throws(CacheError) { return try reader?.next() } catch {
            report(error)
            guard sink.isCommitted else { throw .unreadable(error) }
            let message = "what is stored of the body ends early: \(error.message)"
            throw .failed(ConnectionError(.connectionLost, message, cause: error))
        }
    }

    mutating func rest(after first: Data?) throws(Failure) -> Data {
        guard var body = first else { return Data() }
        while let piece = try next() { body.append(piece) }
        return body
    }

    mutating func stream(from first: Data?) async throws(Failure) {
        var piece = first
        while let bytes = piece {
            do throws(TransportError) { try await sink.append(bytes) } catch { throw .failed(ConnectionError(error)) }
            piece = try next()
        }
        sink.complete()
    }
}
