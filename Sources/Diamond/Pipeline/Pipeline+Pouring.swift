/// Answers whose bodies nobody has whole.
extension Pipeline {
    /// Like ``response(to:asker:)``, but for the body of a success, which goes into a sink. The cache is neither read nor
    /// written, unless the request wants nothing else.
    ///
    /// Returns when the body is at its end; until then the request has its place on the wire.
    ///
    /// - Parameter asker: for whom; what that one makes of the answer is not asked here.
    /// - Returns: where the sink is complete a response without body.
    func pour(
        _ request: Request,
        into sink: any BodySink,
        for asker: Asker = Asker()
    ) async throws(ConnectionError) -> Response {
        var request = request
        if request.cache.mode != .cacheOnly { request.cache = .noStore }
        var asker = asker
        (asker.sink, asker.acceptance) = (sink, nil)
        do throws(ConnectionError) {
            let response = try await untransformed(request, asker)
            // Who transforms a response looks at its body.
            return sink.isComplete ? response : try await wire.interceptors.transform(response)
        } catch {
            throw await told(error, asker)
        }
    }

    /// A body has gone where it was to go.
    func poured(_ arrival: Arrival, _ passage: Passage) async -> Response {
        await invalidate(after: arrival, passage)
        passage.asker.sink?.complete()
        return response(from: arrival, passage)
    }
}
