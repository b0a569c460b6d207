import DiamondSQLite
import Foundation

/// What a connection takes from those that it depends on.
extension Connection {
    /// Makes the connection wait for another, and takes from its response what the request needs.
    ///
    /// ```swift
    /// cities.addDependency(login) { request, response in
    ///     request.headers[.authorization] = "Bearer " + response.text
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - connection: of any engine.
    ///   - hand: called before the request is sent, in the order in which dependencies were added, with each response
    ///     whatever its status; what it throws fails the connection with `dependencyFailed`.
    public func addDependency(
        _ connection: Connection,
        handing hand: @escaping @Sendable (inout Request, Response) throws -> Void
    ) {
        depend(on: connection, hand: hand)
    }

    /// What becomes of the connection where one that it depends on fails or is canceled: by default it is canceled, too.
    public var failedDependencies: FailedDependencies {
        get { core.withLock { $0.failedDependencies.value } ?? .cancel }
        set {
            let former = core.withLock { core in
                defer { core.failedDependencies = .some(newValue) }
                return core.failedDependencies
            }
            // What it holds is the app's, and freed where no lock is held.
            withExtendedLifetime(former) {}
        }
    }

    /// The request with what the responses of its dependencies have brought.
    func handedRequest(for run: ConnectionRun) throws(ConnectionError) -> Request {
        let (handed, fault) = core.withLock { ($0.handed, $0.fault) }
        if let handed = handed.value { return handed }
        if let fault { throw fault }
        let dependencies = DependencyGraph.dependencies(of: self)
        guard !dependencies.isEmpty else { return request }
        var (request, policy) = (request, failedDependencies)
        for edge in dependencies {
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
        // A run that a pause has given up may come late with it.
        core.withLock { [request] core in
            if core.run === run, !core.isPrepared { core.handed = .some(request) }
        }
        return request
    }

    /// Waits for operations that are no connections no longer where one of them waits for the connection, which fails then.
    func breakCycle(over foreign: [Dependency.Foreign]) {
        guard let cycle = CycleSearch.cycle(of: self, over: foreign.map(\.operation)) else { return }
        fail(with: cycle)
        DependencyGraph.remove(foreign.map(\.edge), from: self)
    }

    /// Fails with the cycle when it is run.
    func fail(with cycle: [String]) {
        let fault = ConnectionError(dependencyCycle: cycle)
        core.withLock { $0.fault = fault }
    }

    var outcome: ConnectionLife.Outcome? { core.withLock { $0.life.outcome } }
}

extension Dependency.Ties {
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

    init(dependencyCycle cycle: [String]) {
        let names = cycle.joined(separator: " → ")
        let advice = "remove one of these dependencies; standing behind another in a serial lane is one, too"
        self.init(.dependencyCycle, "it would wait for itself: \(names): \(advice)")
    }
}
