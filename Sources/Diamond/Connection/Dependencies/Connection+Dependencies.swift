import DiamondSQLite
import Foundation

/// Dependencies between connections, and the data that they pass on.
extension Connection {
    /// Makes the connection wait for another, and updates its request with the response of that one.
    ///
    /// ```swift
    /// cities.addDependency(login) { request, response in
    ///     request.headers[.authorization] = "Bearer " + response.text
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - connection: the dependency, of any engine.
    ///   - update: called before the request is sent, with the response, whatever its status. Several dependencies are
    ///     applied in the order in which they were added. An error that it throws fails the connection with
    ///     `dependencyFailed`.
    // Disfavored, so that the closure for a typed call gets the output.
    @_disfavoredOverload
    public func addDependency(
        _ connection: Connection,
        updatingRequest update: @escaping @Sendable (inout Request, Response) throws -> Void
    ) {
        depend(on: connection, update: update)
    }

    /// The reaction to a dependency that fails or is canceled; by default the connection is canceled as well.
    public var failedDependencies: FailedDependencies {
        get { core.withLock { $0.failedDependencies.value } ?? .cancel }
        set {
            let former = core.withLock { core in
                defer { core.failedDependencies = .some(newValue) }
                return core.failedDependencies
            }
            // Released outside the lock, because releasing its closure may run code of the app.
            withExtendedLifetime(former) {}
        }
    }

    /// Returns the request with the changes of its dependencies.
    func updatedRequest(for run: ConnectionRun) throws(ConnectionError) -> Request {
        let (updated, fault) = core.withLock { ($0.updatedRequest, $0.fault) }
        if let updated = updated.value { return updated }
        if let fault { throw fault }
        let dependencies = DependencyGraph.dependencies(of: self)
        guard !dependencies.isEmpty else { return request }
        var request = request
        let policy = failedDependencies
        for edge in dependencies {
            guard let dependency = edge.connection, let outcome = dependency.outcome else { continue }
            switch outcome {
            case .success(let response): try edge.update(&request, with: response, of: dependency)
            case .failure(let error) where policy.allows(error, of: dependency): continue
            case .failure(let error):
                markCanceled()
                // Every connection of a chain reports the first failure, and not its consequences.
                throw error.code == .dependencyFailed ? error : ConnectionError(failed: dependency, error)
            }
        }
        // An abandoned run must not store its request.
        core.withLock { [request] core in
            if core.run === run, !core.isPrepared { core.updatedRequest = .some(request) }
        }
        return request
    }

    /// Fails the connection and removes its dependencies on operations that are no connections, if one of these waits
    /// for the connection.
    func breakCycle(over foreign: [Dependency.Foreign]) {
        guard let cycle = CycleSearch.cycle(of: self, over: foreign.map(\.operation)) else { return }
        fail(with: cycle)
        DependencyGraph.remove(foreign.map(\.edge), from: self)
    }

    /// Makes the connection fail with `dependencyCycle` when it is run.
    func fail(with cycle: [String]) {
        let fault = ConnectionError(dependencyCycle: cycle)
        core.withLock { $0.fault = fault }
    }

    var outcome: ConnectionLife.Outcome? { core.withLock { $0.life.outcome } }
}

extension Dependency.References {
    fileprivate func update(
        _ request: inout Request,
        with response: Response,
        of dependency: Connection
    ) throws(ConnectionError) {
        do { try update?(&request, response) } catch {
            let message = "the response of \(dependency.request) could not be applied to the request: see the cause"
            throw ConnectionError(.dependencyFailed, message, cause: error)
        }
    }
}

extension ConnectionError {
    fileprivate init(failed dependency: Connection, _ error: ConnectionError) {
        self.init(.dependencyFailed, "the dependency \(dependency.request) failed: \(error.message)", cause: error)
    }

    init(dependencyCycle cycle: [String]) {
        let names = cycle.joined(separator: " → ")
        let advice = "remove one of these dependencies; the order of a serial lane counts as one, too"
        self.init(.dependencyCycle, "the connection would wait for itself: \(names): \(advice)")
    }
}
