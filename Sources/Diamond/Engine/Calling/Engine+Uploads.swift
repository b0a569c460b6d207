public import Foundation

/// Uploads of files, and of bodies that are produced while they are sent. See <doc:Uploading>.
extension Engine {
    /// Sends a request with a body that the app produces during the upload, and returns the response.
    ///
    /// ```swift
    /// let source = UploadSource(length: backup.size) { backup.pieces() }
    /// let response = try await engine.upload(Request("https://api.example.com/backup", method: .put), from: source)
    /// ```
    ///
    /// The request is sent and retried like every other, and every attempt reads the body from the source again. The
    /// request has no key, because its body is unknown: the cache neither answers it nor stores its response. A PUT or
    /// POST still invalidates the resources that it changes. Only ``RetryPolicy/attemptTimeout`` and
    /// ``RetryPolicy/deadline`` limit the time that the source takes for a piece.
    ///
    /// - Parameters:
    ///   - request: the request, with its method and a `Content-Type` header, without a body. Its parameters go to the
    ///     query. In a serial lane it waits for its permit, but does not keep its order among the lane's connections.
    ///   - source: the source of the body.
    ///   - progress: called for every piece that is sent or received, on the thread of the transfer. It must return
    ///     quickly.
    /// - Throws: ``ConnectionError``: `badRequest` if the request has a body of its own, or a method that carries none,
    ///   or if the source fails; then the ``ConnectionError/cause`` is a ``TransportError`` with the source's error as
    ///   its cause. `cannotQueue` if ``Request/replay`` asks for a durable request. A response with an error status is
    ///   returned, not thrown.
    @concurrent
    public func upload(
        _ request: Request,
        from source: UploadSource,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ConnectionError) -> Response {
        try await pipeline.upload(request, from: Upload(source, progress: progress))
    }

    /// Sends a call with a body that the app produces during the upload, and decodes the body of its response, as
    /// ``send(_:)->Call.Output`` does.
    @concurrent
    public func upload<Call: Endpoint>(
        _ call: Call,
        from source: UploadSource,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ConnectionError) -> Call.Output {
        let handler = CallHandler(call, decoder: decoder)
        let upload = Upload(source, progress: progress)
        let response = try await pipeline.upload(
            try handler.request, from: upload, for: Caller(handler: handler.responses))
        return try handler.output(of: response)
    }

    /// Sends a request with a file as its body, and returns the response.
    ///
    /// ```swift
    /// let request = Request("https://api.example.com/videos", method: .post, headers: [.contentType: "video/mp4"])
    /// let response = try await engine.upload(request, fromFile: video) { progress in
    ///     print(progress.fractionCompleted ?? 0)
    /// }
    /// ```
    ///
    /// The file is read in pieces while it is sent, and its length is sent as `Content-Length`. Every attempt reads it
    /// from the start. It must stay unchanged until the call returns. The request has no key, and the cache treats it
    /// as in ``upload(_:from:progress:)->Response``. A request that has to be queued needs a
    /// ``RequestBody/file(_:contentType:)`` instead.
    ///
    /// - Parameters:
    ///   - request: the request, with its method and a `Content-Type` header, without a body. Its parameters go to the
    ///     query.
    ///   - file: the URL of the file.
    ///   - progress: called for every piece that is sent or received, on the thread of the transfer. It must return
    ///     quickly.
    /// - Throws: ``ConnectionError``: `badRequest` if the file is missing or cannot be read, or has changed since the
    ///   call began. The message names the file and a remedy. All other errors are those of
    ///   ``upload(_:from:progress:)->Response``.
    @concurrent
    public func upload(
        _ request: Request,
        fromFile file: URL,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ConnectionError) -> Response {
        try await upload(request, from: try UploadSource(file: file), progress: progress)
    }

    /// Sends a call with a file as its body, and decodes the body of its response, as ``send(_:)->Call.Output`` does.
    ///
    /// The file is read as ``upload(_:fromFile:progress:)->Response`` describes.
    @concurrent
    public func upload<Call: Endpoint>(
        _ call: Call,
        fromFile file: URL,
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(ConnectionError) -> Call.Output {
        try await upload(call, from: try UploadSource(file: file), progress: progress)
    }
}

extension UploadSource {
    /// Creates a source that reads a file from its start for each attempt.
    ///
    /// - Throws: `badRequest` if there is no file, or it cannot be read.
    fileprivate init(file: URL) throws(ConnectionError) {
        do throws(RequestError) {
            let segment = try BodySegment(file: file)
            self.init(length: segment.length) { BodyPieces(segments: [segment]) }
        } catch {
            throw ConnectionError(error)
        }
    }
}
