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
