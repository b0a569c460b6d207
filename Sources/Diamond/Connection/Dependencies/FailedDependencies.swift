/// The reaction of a connection to a dependency that fails or is canceled.
///
/// A response with an error status is no failure: read the needed part of it in
/// ``Connection/addDependency(_:updatingRequest:)-(Connection,_)``, and throw if that part is missing.
public enum FailedDependencies: Sendable {
    /// The connection fails with `dependencyFailed`, and its `isCancelled` is `true`. Its last state is
    /// `finished(.failure)`.
    case cancel
    /// The connection runs as though the dependency had succeeded. The request is not updated, because there is no
    /// response.
    case ignore
    /// The connection runs if the closure returns `true`.
    case custom(@Sendable (_ dependency: Connection, _ error: ConnectionError) -> Bool)

    func allows(_ error: ConnectionError, of dependency: Connection) -> Bool {
        switch self {
        case .cancel: false
        case .ignore: true
        case .custom(let allows): allows(dependency, error)
        }
    }
}
