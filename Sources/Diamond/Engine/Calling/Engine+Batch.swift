import HTTPTypes

/// Batches of requests.
extension Engine {
    /// Creates a batch of requests. Add its dependencies, then start it.
    ///
    /// - Parameters:
    ///   - requests: the requests, in the order of their start and of their results.
    ///   - isFailingFast: whether the first failure cancels the others.
    ///   - isFailure: returns whether a response counts as a failure; by default none does, whatever its status.
    public func batch(
        _ requests: some Sequence<Request>,
        isFailingFast: Bool = false,
        isFailure: @escaping @Sendable (Response) -> Bool = { _ in false }
    ) -> Batch {
        Batch(requests.map(connection(for:)), isFailingFast: isFailingFast, isFailure: isFailure)
    }

    /// Runs the connections of a batch in their order, each when its dependencies have finished. Connections that any
    /// engine runs already are left as they are.
    public func start(_ batch: Batch) {
        // At once, because a failure of the first may cancel the others.
        start(batch.connections)
    }

    /// Sends calls and decodes their bodies, each as ``send(_:)->Call.Output`` does. The results are in the order of
    /// the calls. Canceling the calling task cancels them.
    ///
    /// - Parameters:
    ///   - calls: the calls, all of one type.
    ///   - isFailingFast: whether the first failure cancels the others. A status other than 2xx and a body that cannot
    ///     be decoded are failures.
    public func send<Call: Endpoint>(
        _ calls: [Call],
        isFailingFast: Bool = false
    ) async -> [Result<Call.Output, ConnectionError>] {
        let connections = calls.map { connection(for: $0) }
        let batch = Batch(connections, isFailingFast: isFailingFast)
        start(batch)
        return zip(connections, await batch.results).map { connection, result in
            result.flatMap { response in
                Result { () throws(ConnectionError) in try connection.handler.output(of: response) }
            }
        }
    }
}
