import HTTPTypes

/// Many requests as one.
extension Engine {
    /// Makes a batch of requests, ready to be given dependencies and enqueued.
    ///
    /// - Parameters:
    ///   - requests: the requests, in the order in which they are run and their results returned.
    ///   - isFailingFast: whether the first failure cancels the others.
    ///   - isFailure: whether a response is a failure as well; by default none is, whatever its status.
    public func batch(
        _ requests: some Sequence<Request>,
        isFailingFast: Bool = false,
        isFailure: @escaping @Sendable (Response) -> Bool = { _ in false }
    ) -> Batch {
        Batch(requests.map(connection(for:)), isFailingFast: isFailingFast, isFailure: isFailure)
    }

    /// Runs the connections of a batch in their order, each when its dependencies have finished. Connections that any
    /// engine runs already are left as they are.
    public func enqueue(_ batch: Batch) {
        // All are the engine's before the first can fail: else the others, canceled, would be nobody's.
        let added = batch.connections.filter(add)
        for connection in added { connection.start() }
    }

    /// Sends calls and decodes their bodies, each as ``send(_:)->Response`` would; the results are in the order of the
    /// calls. Canceling the calling task cancels them.
    ///
    /// - Parameters:
    ///   - calls: of one type, with one type of output.
    ///   - isFailingFast: whether the first failure, be it a status other than 2xx or a body that cannot be decoded, cancels
    ///     the others.
    public func send<Call: Endpoint>(
        _ calls: [Call],
        isFailingFast: Bool = false
    ) async -> [Result<Call.Output, ConnectionError>] {
        let takers = calls.map { (call: $0, handler: handler(of: $0)) }
        let batch = Batch(
            takers.map { connection(for: request(of: $0.call), $0.handler) }, isFailingFast: isFailingFast)
        enqueue(batch)
        return zip(takers, await batch.results).map { taker, result in
            result.flatMap { response in
                Result { () throws(ConnectionError) in try output(of: taker.call, from: response, taker.handler) }
            }
        }
    }
}
