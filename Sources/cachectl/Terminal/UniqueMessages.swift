#if Tools
import ArgumentParser
import Diamond
import DiamondSQLite

/// Prints each error message once.
final class UniqueMessages: Sendable {
    private let printed = Guarded<Set<String>>([])

    func print(_ message: String) {
        guard printed.withLock({ $0.insert(message).inserted }) else { return }
        Output.note("cachectl: \(message)")
    }

    /// Prints the error that ends a command.
    ///
    /// - Returns: The exit code to throw.
    func report(_ error: ReplayError) -> ExitCode {
        print(error.message)
        return Failure.code(of: error)
    }
}
#endif
