public import Foundation

/// Streamed responses, events and downloads. See <doc:StreamingResponses>.
extension Engine {
    /// Sends a request, and returns the head of its response while the body is still being received.
    ///
    /// ```swift
    /// let streamed = try await engine.stream(request)
    /// for try await piece in streamed.bytes {
    ///     show(piece)
    /// }
    /// ```
    ///
    /// ``Request/cache`` decides whether a stored response is returned, at once or after the server has confirmed it. A
    /// successful response from the server is not stored, except a 206 of at most 8 MiB in an engine without
    /// interceptors. It holds its permit until its body has been read to the end or is dropped. Until the head has
    /// arrived, ``Request/retry`` applies, and ``RetryPolicy/attemptTimeout`` and ``RetryPolicy/deadline`` limit the
    /// time. From then on nothing is sent again, and ``Request/timeout`` limits the time between two pieces.
    ///
    /// - Parameters:
    ///   - request: the request. In a serial lane it waits for its permit, but does not keep its order among the lane's
    ///     connections.
    ///   - limit: the greatest size of the body in bytes; none by default. ``Configuration/bodyLimit`` is for bodies in
    ///     memory.
    ///   - sharing: whether one exchange serves all callers that send the same request, also with `sharing`, before its
    ///     head arrives. Each caller gets all bytes, and may stop at any time. No caller gets more than 1 MiB ahead of
    ///     the slowest: a caller that does not read stops all of them. These are not shared: methods other than GET,
    ///     HEAD and QUERY, bodies in files, the policies `reload` and `noStore`, `If-Match` and `If-Unmodified-Since`,
    ///     named secrets without an identity, and requests of a shared cache.
    /// - Throws: ``ConnectionError``, as reading the body does later. A response with an error status is returned, not
    ///   thrown.
    @concurrent
    public func stream(
        _ request: Request,
        limit: Int = .max,
        sharing: Bool = false
    ) async throws(ConnectionError) -> StreamedResponse {
        var streamed =
            sharing
            ? try await sharedStreams.open(request, limit: limit, over: pipeline)
            : try await StreamSession.open(request, limit: limit, over: pipeline)
        streamed.head.facts.decoder = pipeline.exchangeEnvironment.decoder
        return streamed
    }

    /// Returns the events that a server sends (`text/event-stream`), over as many connections as needed (HTML living
    /// standard, section 9.2).
    ///
    /// ```swift
    /// for try await event in engine.events(request) {
    ///     print(event.type, event.data)
    /// }
    /// ```
    ///
    /// A stream that ends or breaks is opened again, with `Last-Event-ID`, after the time that the server names (3
    /// seconds if it names none). After consecutive failures, a growing random delay is added. This continues until the
    /// loop is left or its task canceled, or until the status is 204. The first connection follows ``Request/retry``,
    /// and its failure is thrown. A request that must not be sent twice (a POST without `Idempotency-Key`) or is not to
    /// be retried (`.never`) is sent once.
    ///
    /// Iterations share no connection. An iteration connects when its first event is requested.
    ///
    /// - Parameters:
    ///   - request: the request, which gets `Accept: text/event-stream` and `Cache-Control: no-store` unless it has
    ///     these headers.
    ///   - lastEventID: the ID of an event that was received before, to continue after it.
    ///   - eventLimit: the greatest size of an event's data, and of a line, in bytes; 1 MiB by default. A larger one is
    ///     the error `bodyTooLarge`.
    /// - Returns: the events. An iteration throws ``ConnectionError``: `badStatus`, with the response, for a first
    ///   status other than 200 or 204, and for a later one that is not among the ``RetryPolicy/statuses``;
    ///   `badContentType`, with the response; and errors that a retry would not help. A later `Retry-After` is
    ///   respected, however long.
    public func events(
        _ request: Request,
        after lastEventID: String = "",
        eventLimit: Int = 1 << 20
    ) -> some AsyncSequence<ServerSentEvent, ConnectionError> & Sendable {
        ServerSentEvents(
            source: EventSource(request: request, pipeline: pipeline, lastEventID: lastEventID, limit: eventLimit))
    }

    /// Sends a request, and writes the body of its response into a file.
    ///
    /// ```swift
    /// let download = try await engine.download(request, to: URL(filePath: "cities.zip"))
    /// print(download.size, download.headers[.contentType] ?? "")
    /// ```
    ///
    /// The bytes are written to a hidden file in the same directory. It replaces `file` atomically when it is complete
    /// and synced to the disk: an incomplete file never has that name. If the transfer breaks, and the response has a
    /// length and a strong validator, the next attempt continues after the received bytes. Otherwise it starts from the
    /// beginning. If the download fails, or its process ends or is killed, the next download of the same request to the
    /// same path continues it, within a week: see <doc:StreamingResponses>. A canceled download starts from the
    /// beginning. ``Request/retry`` limits the attempts, but its ``RetryPolicy/window`` does not apply. The request
    /// gets `Accept-Encoding: identity` unless it has that header. The download needs a few mebibytes of memory.
    /// ``Request/cache`` decides whether a stored response is written to the file. A response that comes over the wire
    /// is not stored, except as with ``stream(_:limit:sharing:)``.
    ///
    /// Use a ``Connection`` for a download that can be paused or be a dependency: see ``start(_:to:)``.
    ///
    /// - Parameters:
    ///   - request: the request. Only a GET without its own conditions or ranges continues a broken transfer.
    ///   - file: the URL of the file. Its directory has to exist.
    ///   - limit: the greatest size in bytes; none by default.
    ///   - progress: called for every piece that comes over the wire, on the thread of the transfer. It must return
    ///     quickly.
    /// - Throws: ``ConnectionError``; no file appears then, but a received part may be kept. `cannotWrite`, before
    ///   anything is sent if the directory does not exist or is not writable; `badStatus` for a status other than 2xx,
    ///   with the response.
    @concurrent
    public func download(
        _ request: Request,
        to file: URL,
        limit: Int = .max,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ConnectionError) -> Download {
        let target = DownloadFile(file, limit: limit, seal: pipeline.seal, progress: progress)
        try target.open()
        return try await pipeline.download(request, into: target)
    }

    /// Sends a request, and passes the body of its response to a sink piece by piece, each when the sink has processed
    /// the one before.
    ///
    /// ```swift
    /// let checksum = Checksum()
    /// try await engine.download(request, to: checksum)
    /// print(await checksum.value)
    /// ```
    ///
    /// It works like a download into a file. If the transfer breaks, and the response has a length and a strong
    /// validator, the next attempt continues after the received bytes. Otherwise it starts from the beginning, with
    /// another call of ``DownloadSink/begin(_:)``. ``Request/cache`` decides whether a stored response is passed to the
    /// sink. A response that comes over the wire is not stored, except as with ``stream(_:limit:sharing:)``.
    ///
    /// - Parameters:
    ///   - request: the request. Only a GET without its own conditions or ranges continues a broken transfer.
    ///   - sink: the sink, which must not be used for another download at the same time.
    ///   - limit: the greatest size in bytes; none by default.
    ///   - progress: called for every piece that comes over the wire, on the thread of the transfer. It must return
    ///     quickly.
    /// - Throws: ``ConnectionError``: `cannotWrite` if the sink throws, with that error as the cause; `badStatus` for a
    ///   status other than 2xx, with the response; `cancelled` with the calling task, and `noEngine` if the engine is
    ///   closed, both without waiting for the sink.
    @concurrent
    @discardableResult
    public func download(
        _ request: Request,
        to sink: some DownloadSink,
        limit: Int = .max,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ConnectionError) -> Download {
        let waits = pipeline.exchangeEnvironment.retryCoordinator.waits
        let feed = DownloadFeed(sink, limit: limit, progress: progress, among: waits)
        return try await pipeline.download(request, into: feed)
    }
}
