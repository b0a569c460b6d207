/// Bodies that are made while they are sent.
extension Pipeline {
    /// Like ``response(to:asker:)``, with a body from beside the request. No key tells what that says: its answer is
    /// neither looked up nor stored, and no exchange is shared.
    func upload(
        _ request: Request,
        _ upload: Upload,
        for asker: Asker = Asker()
    ) async throws(ConnectionError) -> Response {
        do throws(ConnectionError) {
            return try await plainResponse(to: try carrying(request, upload), asker.uploading(upload))
        } catch {
            throw await told(error, asker)
        }
    }

    /// The request as with every body: its parameters go to the query.
    private func carrying(_ request: Request, _ upload: Upload) throws(ConnectionError) -> Request {
        guard !request.isKept else {
            let advice = "send a file, or set its replay to .never"
            let message = "\(request) is to be kept, and its body is there only while it is sent: \(advice)"
            throw ConnectionError(.cannotQueue, message)
        }
        var request = request
        if request.destination == .automatic { request.destination = .query }
        guard request.body == nil, request.parameters.isEmpty || request.destination == .query else {
            let advice = "leave one of them out, and send parameters in the query"
            let message = "the request has a body of its own beside the source of its upload: \(advice)"
            throw ConnectionError(RequestError(.malformedRequest, message))
        }
        guard !upload.isConsumed else { throw ConnectionError(.consumedSource) }
        return request
    }
}
