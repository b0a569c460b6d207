import DiamondSQLite

/// What becomes of a connection where one that it depends on fails or is canceled.
///
/// A response with an error status is no failure: take what is needed of it with
/// ``Connection/addDependency(_:handing:)``, and throw where it is not there.
public enum FailedDependencies: Sendable {
    /// It fails with `dependencyFailed`, and counts as canceled.
    case cancel
    /// It runs as though the other had ended well; of a response that is not there, nothing is handed over.
    case ignore
    /// It runs where the closure says so.
    case ask(@Sendable (_ dependency: Connection, _ error: ConnectionError) -> Bool)

    func allows(_ dependency: Connection, _ error: ConnectionError) -> Bool {
        switch self {
        case .cancel: false
        case .ignore: true
        case .ask(let answer): answer(dependency, error)
        }
    }
}

extension Connection {
    /// The request with what the responses of its dependencies have brought.
    func handedRequest() throws(ConnectionError) -> Request {
        let (handed, policy, fault) = core.withLock { ($0.handed, $0.failedDependencies, $0.fault) }
        if let handed { return handed }
        if let fault { throw fault }
        var request = request
        for edge in DependencyGraph.dependencies(of: self) {
            guard let dependency = edge.connection, let outcome = dependency.outcome else { continue }
            switch outcome {
            case .success(let response): try edge.hand(response, of: dependency, to: &request)
            case .failure(let error) where policy.allows(dependency, error): continue
            case .failure(let error):
                markCanceled()
                // Along a chain, what failed first is the cause, and not the chain.
                throw error.code == .dependencyFailed ? error : ConnectionError(failed: dependency, error)
            }
        }
        core.withLock { [request] in $0.handed = request }
        return request
    }

    var outcome: ConnectionLife.Outcome? { core.withLock { $0.life.outcome } }
}

extension Dependency {
    fileprivate func hand(
        _ response: Response,
        of dependency: Connection,
        to request: inout Request
    ) throws(ConnectionError) {
        do { try hand?(&request, response) } catch {
            let message = "the response of \(dependency.request) is of no use to what depends on it: see the cause"
            throw ConnectionError(.dependencyFailed, message, cause: error)
        }
    }
}

extension ConnectionError {
    fileprivate init(failed dependency: Connection, _ error: ConnectionError) {
        self.init(.dependencyFailed, "\(dependency.request), which it depends on, failed: see the cause", cause: error)
    }

    init(dependencyCycle cycle: [Connection]) {
        let names = cycle.map(\.request.description).joined(separator: " → ")
        self.init(.dependencyCycle, "it would wait for itself: \(names); remove one of these dependencies")
    }
}
