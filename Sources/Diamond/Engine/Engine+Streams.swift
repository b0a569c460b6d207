public import Foundation

/// Bodies that are not collected. See <doc:StreamingResponses>.
extension Engine {
    /// Sends a request, and returns the head of its answer while the body is still being received.
    ///
    /// ```swift
    /// let streamed = try await engine.stream(request)
    /// for try await piece in streamed.bytes {
    ///     show(piece)
    /// }
    /// ```
    ///
    /// The request is sent like every other: ``Request/cache`` says whether a stored answer is returned, at once or
    /// confirmed by the server. A success that comes over the wire is not stored, and holds its permit until the body
    /// was read to its end or is dropped. Until the head is here the request is sent again as its ``Request/retry``
    /// says, and ``RetryPolicy/attemptTimeout`` and ``RetryPolicy/deadline`` limit that time. From then on nothing is
    /// sent again, and ``Request/timeout`` limits the silence between two pieces.
    ///
    /// - Parameters:
    ///   - request: in a serial lane it waits for its place, but in no order with connections.
    ///   - limit: the greatest size of the body in bytes; none by default. ``Configuration/bodyLimit`` is for bodies in
    ///     memory.
    ///   - sharing: whether one exchange serves all callers that send the same request, sharing too, before its head is
    ///     here. Each caller gets all bytes and leaves when it likes. No caller gets further ahead of the slowest than
    ///     1 MiB, so a caller that does not read stops all. Not shared: other methods than GET, HEAD and QUERY, the
    ///     policies `reload` and `noStore`, ranges and conditions, named secrets without an identity.
    /// - Throws: ``ConnectionError``, as the body does later. An answer with an error status is returned, not thrown.
    @concurrent
    public func stream(
        _ request: Request,
        limit: Int = .max,
        sharing: Bool = false
    ) async throws(ConnectionError) -> StreamedResponse {
        guard sharing else { return try await StreamSession.open(request, limit: limit, over: pipeline) }
        return try await sharedStreams.open(request, limit: limit, over: pipeline)
    }

    /// Returns the events that a server sends (`text/event-stream`), over as many connections as that takes.
    ///
    /// ```swift
    /// for try await event in engine.events(request) {
    ///     print(event.type, event.data)
    /// }
    /// ```
    ///
    /// A stream that ends or breaks is opened again, with `Last-Event-ID`, after the time that the server asks for (3
    /// seconds where it asks for none). After failures in a row a growing, random delay is added. This lasts until the
    /// loop is left or its task canceled; 204 ends it for good. The first connection is tried as ``Request/retry``
    /// says, and its failure thrown. A request that must not arrive twice (a POST without `Idempotency-Key`) and one
    /// that is not to be sent again (`.never`) is sent once.
    ///
    /// - Parameters:
    ///   - request: sent with `Accept: text/event-stream` and `Cache-Control: no-store` where it does not say else.
    ///   - lastEventID: the ID of an event that was received before, to continue after it.
    ///   - eventLimit: the greatest size of an event's data, and of a line, in bytes; 1 MiB. More is the error
    ///     `bodyTooLarge`.
    /// - Returns: events that throw ``ConnectionError``: `badStatus` for a first status other than 200, and for a later one that is
    ///   not among the ``RetryPolicy/statuses``, and `badContentType`, both with the response; and what exchanges fail with that
    ///   are of no use to repeat. A later `Retry-After` is waited for, however long.
    public func events(
        _ request: Request,
        after lastEventID: String = "",
        eventLimit: Int = 1 << 20
    ) -> ServerSentEvents {
        ServerSentEvents(
            EventSource(request: request, pipeline: pipeline, lastEventID: lastEventID, limit: eventLimit))
    }

    /// Sends a request, and writes the body of its answer into a file.
    ///
    /// ```swift
    /// let download = try await engine.download(request, to: URL(filePath: "cities.zip"))
    /// print(download.size, download.headers[.contentType] ?? "")
    /// ```
    ///
    /// The bytes go into a hidden file in the same directory. It replaces `file` in one step when it is whole and on
    /// the disk: there is never a part under that name. If the transfer breaks, the next attempt continues with the
    /// received bytes if the answer has a length and a strong validator; if not, it starts from the beginning.
    /// ``Request/retry`` says how often, but its ``RetryPolicy/window`` does not count. The download asks for
    /// `Accept-Encoding: identity` where the request does not say otherwise. It takes a few mebibytes of memory.
    /// ``Request/cache`` says whether a stored answer goes into the file; an answer that comes over the wire is not
    /// stored.
    ///
    /// A download that can be paused and depended on is a ``Connection``: see ``enqueue(_:to:)``.
    ///
    /// - Parameters:
    ///   - request: a GET without conditions or ranges of its own, if a broken transfer is to be continued.
    ///   - file: where the body goes; its directory has to be there.
    ///   - limit: bytes at most; none by default.
    ///   - progress: called for every piece that comes over the wire, on the thread of the transfer; be short.
    /// - Throws: ``ConnectionError``, and then there is no file: `cannotWrite`, before anything is sent where the directory
    ///   is not there or not to be written; `badStatus` for a status other than 2xx, with the response.
    @concurrent
    public func download(
        _ request: Request,
        to file: URL,
        limit: Int = .max,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ConnectionError) -> Download {
        try await pipeline.download(request, into: try DownloadFile(file, limit: limit, progress: progress))
    }

    /// Sends a request, and hands the body of its answer to a sink piece by piece, each when the sink has taken the one
    /// before.
    ///
    /// ```swift
    /// let checksum = Checksum()
    /// try await engine.download(request, to: checksum)
    /// print(await checksum.value)
    /// ```
    ///
    /// It works like a download into a file. If the transfer breaks, the next attempt continues after the bytes taken
    /// if the answer has a length and a strong validator; if not, it starts from the beginning, which
    /// ``DownloadSink/begin(_:)`` tells. A stored answer goes into the sink as ``Request/cache`` says; an answer that
    /// comes over the wire is not stored.
    ///
    /// - Parameters:
    ///   - request: a GET without conditions or ranges of its own, if a broken transfer is to be continued.
    ///   - sink: for this download alone, as long as that takes.
    ///   - limit: bytes at most; none by default.
    ///   - progress: called for every piece that comes over the wire, on the thread of the transfer; be short.
    /// - Throws: ``ConnectionError``: `cannotWrite` where the sink throws, its error as the cause; `badStatus` for a status
    ///   other than 2xx, with the response; `cancelled` with the calling task, and `noEngine` where the engine is closed:
    ///   both at once, whatever the sink is about.
    @concurrent
    @discardableResult
    public func download(
        _ request: Request,
        to sink: some DownloadSink,
        limit: Int = .max,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ConnectionError) -> Download {
        let waits = pipeline.wire.repetitions.waits
        let feed = DownloadFeed(sink, limit: limit, progress: progress, among: waits)
        return try await pipeline.download(request, into: feed)
    }
}
