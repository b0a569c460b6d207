/// Bodies that are made while they are sent. See <doc:Uploading>.
extension Engine {
    /// Sends a request with a body that the app makes meanwhile, and returns its response.
    ///
    /// ```swift
    /// let source = UploadSource(length: backup.size) { backup.pieces() }
    /// let response = try await engine.upload(Request("https://api.example.com/backup", method: .put), from: source)
    /// ```
    ///
    /// The request is sent like every other, retried as its ``Request/retry`` says, and the source is asked for the
    /// body again for every attempt. No key tells what was sent: the cache neither answers the request nor stores its
    /// response. A PUT or POST still makes what it changes stale. Only ``RetryPolicy/attemptTimeout`` and
    /// ``RetryPolicy/deadline`` limit the time that the source takes for a piece.
    ///
    /// - Parameters:
    ///   - request: with the method, and a `Content-Type` among its headers, without a body. Its parameters go to the
    ///     query. In a serial lane it waits for its place, but in no order with connections.
    ///   - source: of the body.
    ///   - progress: called for every piece that goes up or comes down, on the thread of the transfer; be short.
    /// - Throws: ``ConnectionError``: `badRequest` where the request has a body of its own, or a method that carries
    ///   none, and where the source fails, whose error is the cause of the ``ConnectionError/cause``, a
    ///   ``TransportError``; `cannotQueue` where ``Request/replay`` would have it kept. A response with an error status
    ///   is returned, not thrown.
    @concurrent
    public func upload(
        _ request: Request,
        from source: UploadSource,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ConnectionError) -> Response {
        try await pipeline.upload(request, Upload(source, progress: progress))
    }

    /// Sends a call with a body that the app makes meanwhile, and decodes the body of its response, as
    /// ``send(_:)->Call.Output`` does.
    @concurrent
    public func upload<Call: Endpoint>(
        _ call: Call,
        from source: UploadSource,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ConnectionError) -> Call.Output {
        let (handler, upload) = (handler(of: call), Upload(source, progress: progress))
        let response = try await pipeline.upload(request(of: call), upload, for: Caller(handler: handler))
        return try output(of: call, from: response, handler)
    }
}
