public import Foundation

/// Bodies that are not collected. See <doc:StreamingResponses>.
extension Engine {
    /// Sends a request, and returns with the head of its answer while the body is still on its way.
    ///
    /// ```swift
    /// let streamed = try await engine.stream(request)
    /// for try await piece in streamed.bytes {
    ///     show(piece)
    /// }
    /// ```
    ///
    /// It goes the way of every request: ``Request/cache`` says whether what is stored is handed out, at once or confirmed by
    /// the server. A success that comes over the wire is not stored, and holds its place there until the body was read to
    /// its end or is dropped. Until the head is here it is sent again as its ``Request/retry`` says, and
    /// ``RetryPolicy/attemptTimeout`` and ``RetryPolicy/deadline`` limit that time; from then on nothing is sent again, and
    /// ``Request/timeout`` limits the silence between two pieces.
    ///
    /// - Parameters:
    ///   - request: in a serial lane it waits for its place, but in no order with connections.
    ///   - limit: bytes of a body at most; none by default. ``Configuration/bodyLimit`` is for bodies in memory.
    ///   - sharing: whether one exchange is enough for all who ask the same, sharing too, before its head is here. Each
    ///     gets all bytes and leaves when it likes; none comes further ahead of the slowest than 1 MiB, so who does not read
    ///     stops all. Not shared: other methods than GET, HEAD and QUERY, the policies `reload` and `noStore`, ranges and
    ///     conditions, named secrets without an identity.
    /// - Throws: ``ConnectionError``, as the body does later. An answer with an error status is returned, not thrown.
    @concurrent
    public func stream(
        _ request: Request,
        limit: Int = .max,
        sharing: Bool = false
    ) async throws(ConnectionError) -> StreamedResponse {
        guard sharing else { return try await Handover.open(request, limit: limit, over: pipeline) }
        return try await handovers.open(request, limit: limit, over: pipeline)
    }

    /// The events that a server sends (`text/event-stream`), through as many connections as that takes.
    ///
    /// ```swift
    /// for try await event in engine.events(request) {
    ///     print(event.type, event.data)
    /// }
    /// ```
    ///
    /// Where a stream ends or breaks it is opened again, after the time that the server asks for (3 seconds where it does
    /// not), with `Last-Event-ID`; after failures in a row a growing, drawn delay comes on top, until the loop is left or
    /// its task canceled. 204 ends it for good. The first connection is tried as ``Request/retry`` says, and its failure
    /// thrown. A request that must not arrive twice (a POST without `Idempotency-Key`) and one that is not to be sent
    /// again (`.never`) is sent once.
    ///
    /// - Parameters:
    ///   - request: sent with `Accept: text/event-stream` and `Cache-Control: no-store` where it does not say else.
    ///   - lastEventID: of an event that was received before, to go on after it.
    ///   - eventLimit: bytes of an event's data, and of a line, at most; 1 MiB. More is the error `bodyTooLarge`.
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
    /// The bytes go into a hidden file in the same directory, which takes the place of `file` at one stroke when it is
    /// whole and on the disk: under that name there is never a part. Where the transfer breaks, the next attempt goes on
    /// with what is there if the answer has a length and a strong validator, and begins anew if not; how often says
    /// ``Request/retry``, whose ``RetryPolicy/window`` does not count. It asks for `Accept-Encoding: identity` where the
    /// request does not say else. What is in memory is a few mebibytes. ``Request/cache`` says whether what is stored goes
    /// into the file; what comes over the wire is not stored.
    ///
    /// One that can be paused, and depended on, is a ``Connection``: see ``enqueue(_:to:)``.
    ///
    /// - Parameters:
    ///   - request: a GET without conditions or ranges of its own, where a broken transfer is to be gone on with.
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

    /// Sends a request, and hands the body of its answer to a sink piece by piece, each when the one before was taken.
    ///
    /// ```swift
    /// let checksum = Checksum()
    /// try await engine.download(request, to: checksum)
    /// print(await checksum.value)
    /// ```
    ///
    /// It goes the way of a download into a file: where the transfer breaks, the next attempt goes on behind what was
    /// taken if the answer has a length and a strong validator, and begins anew if not, which ``DownloadSink/begin(_:)``
    /// tells. What is stored goes into the sink as ``Request/cache`` says; what comes over the wire is not stored.
    ///
    /// - Parameters:
    ///   - request: a GET without conditions or ranges of its own, where a broken transfer is to be gone on with.
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
