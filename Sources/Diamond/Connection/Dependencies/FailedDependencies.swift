/// The reaction of a connection to a dependency that fails or is canceled.
///
/// A response with an error status is no failure: take the needed part of it with
/// ``Connection/addDependency(_:handing:)``, and throw where that part is missing.
public enum FailedDependencies: Sendable {
    /// The connection fails with `dependencyFailed`, and counts as canceled.
    case cancel
    /// The connection runs as though the dependency had succeeded; nothing is handed over, because there is no
    /// response.
    case ignore
    /// The connection runs where the closure returns `true`.
    case ask(@Sendable (_ dependency: Connection, _ error: ConnectionError) -> Bool)

    func allows(_ dependency: Connection, _ error: ConnectionError) -> Bool {
        switch self {
        case .cancel: false
        case .ignore: true
        case .ask(let answer): answer(dependency, error)
        }
    }
}
