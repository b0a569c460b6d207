import Foundation
import HTTPTypes

/// Answers whose bodies nobody has whole.
extension Pipeline {
    /// Like ``response(to:asker:)``, but for the body of a success, which goes into a sink, and is not stored where it comes
    /// from a server.
    ///
    /// Returns when the body is at its end; until then a request that a server answers has its place on the wire.
    ///
    /// - Parameter asker: for whom; what that one makes of the answer is not asked here.
    /// - Returns: where the sink is complete a response without body.
    func pour(
        _ request: Request,
        into sink: any BodySink,
        for asker: Asker = Asker()
    ) async throws(ConnectionError) -> Response {
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

    /// Serves what is stored, its body as that of a server: a success into the sink, where there is one.
    func hand(
        _ stored: StoredResponse,
        from source: Response.Source,
        _ passage: Passage,
        after attempts: [Attempt] = []
    ) async throws(ConnectionError) -> Response {
        var response = serve(stored, from: source, passage, after: attempts)
        guard let sink = passage.asker.sink, response.status.kind == .successful else { return response }
        let body = response.body
        response.body = Data()
        do throws(TransportError) { try await sink.take(body, of: response) } catch { throw ConnectionError(error) }
        return response
    }

    /// A body has gone where it was to go.
    func poured(_ arrival: Arrival, _ passage: Passage) async -> Response {
        await invalidate(after: arrival, passage)
        passage.asker.sink?.complete()
        return response(from: arrival, passage)
    }
}

extension BodySink {
    /// - Parameter head: without the body.
    fileprivate func take(_ body: Data, of head: Response) async throws(TransportError) {
        guard body.count <= limit else { throw TransportError(bodyLargerThan: limit) }
        try await begin(head)
        if !body.isEmpty { try await append(body) }
        complete()
    }
}
