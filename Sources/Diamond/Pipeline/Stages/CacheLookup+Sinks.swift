import Foundation
import HTTPTypes

extension CacheLookup {
    /// The result of serving a stored response.
    enum ServeResult {
        case response(Response)
        /// The body cannot be read, and the caller has seen nothing of it.
        case unreadable(CacheError)
    }

    /// Serves a stored response like a server's response: the body of a success goes into the caller's sink, if there
    /// is one.
    @inline(never)
    func serve(
        _ stored: StoredCandidate,
        as source: Response.Source,
        for context: RequestContext,
        after attempts: [Attempt] = [],
        forwarding: CacheForwarding? = nil
    ) async throws(ConnectionError) -> ServeResult {
        let response = { [self] in
            self.response(
                from: stored.response, as: source, for: context.resolved, after: attempts, forwarding: forwarding)
        }
        guard let sink = context.caller.sink, let reader = stored.reader.value else { return .response(response()) }
        let body = context.wire.method == .head ? nil : reader
        return try await stream(stored.response, reader: body, into: sink, for: context, with: response)
    }

    @inline(never)
    private func stream(
        _ stored: StoredResponse,
        reader: BodyReader?,
        into sink: any BodySink,
        for context: RequestContext,
        with response: () -> Response
    ) async throws(ConnectionError) -> ServeResult {
        let form = context.resolved.form(of: stored, at: now())
        let isForSink = sink.takesEveryStatus || form.isSuccess(ofStored: stored.status)
        let reader = form.bytes.map { reader?.reading($0) } ?? reader
        let limit = isForSink ? sink.limit : Transfer.nonSuccessBodyLimit
        guard reader?.count ?? 0 <= limit else { throw ConnectionError(TransportError(bodyLargerThan: limit)) }
        var body = StoredBodyStream(reader: reader, sink: sink, report: report)
        do throws(StoredBodyStream.Failure) {
            // Read before the caller is called, so that an unreadable body has no effect.
            let first = try sink.takesEveryStatus ? body.beginning() : body.next()
            var response = response()
            guard isForSink else {
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

/// A sink that reads a stored body itself.
protocol StoredBodySink: BodySink {
    /// Receives the rest of a stored body, after its first piece.
    ///
    /// - Throws: ``CacheError`` if the body cannot be read; ``TransportError`` as ``append(_:)``; `CancellationError`.
    func append(rest reader: BodyReader) async throws
}

/// Streams a stored body into a sink. Between two pieces it holds no read transaction, which would block a checkpoint.
private struct StoredBodyStream {
    enum Failure: Error {
        case failed(ConnectionError)
        /// The body cannot be read, and nothing of it was passed to the caller.
        case unreadable(CacheError)
    }

    /// `nil` for no body.
    var reader: BodyReader?
    let sink: any BodySink
    let report: (CacheError) -> Void

    mutating func next() throws(Failure) -> Data? {
        guard !Task.isCancelled else { throw .failed(.cancelled) }
        do throws(CacheError) { return try reader?.next() } catch { throw unreadable(error) }
    }

    /// Returns the first bytes for a gateway: fewer than a chunk, because they are in memory as long as a slow client
    /// does not take them.
    mutating func beginning() throws(Failure) -> Data? {
        guard !Task.isCancelled else { throw .failed(.cancelled) }
        var piece: Data?
        do throws(CacheError) { _ = try reader?.read(upTo: 64 << 10) { piece = Data($0) } } catch {
            throw unreadable(error)
        }
        return piece
    }

    private func unreadable(_ error: CacheError) -> Failure {
        report(error)
        guard sink.isCommitted else { return .unreadable(error) }
        let message = "the stored body cannot be read to its end: \(error.message)"
        return .failed(ConnectionError(.connectionLost, message, cause: error))
    }

    mutating func rest(after first: Data?) throws(Failure) -> Data {
        guard var body = first else { return Data() }
        while let piece = try next() { body.append(piece) }
        return body
    }

    func stream(from first: Data?) async throws(Failure) {
        do {
            if let first { try await sink.append(first) }
            if let reader { try await append(rest: reader) }
        } catch let error as CacheError {
            throw unreadable(error)
        } catch let error as TransportError {
            throw .failed(ConnectionError(error))
        } catch {
            throw .failed(.cancelled)
        }
        sink.complete()
    }

    private func append(rest reader: BodyReader) async throws {
        if let sink = sink as? any StoredBodySink { return try await sink.append(rest: reader) }
        var reader = reader
        while let piece = try reader.next() {
            try await sink.append(piece)
            try Task.checkCancellation()
        }
    }
}
