#if Tools
import ArgumentParser
import Diamond
import Synchronization

/// Prints complaints, each only once.
final class Complaints: Sendable {
    private let told = Mutex<Set<String>>([])

    func add(_ reason: String) {
        guard told.withLock({ $0.insert(reason).inserted }) else { return }
        Output.note("cachectl: \(reason)")
    }

    /// Prints why a command ends.
    ///
    /// - Returns: the exit code to throw.
    func report(_ error: ReplayError) -> ExitCode {
        add(error.message)
        return Failure.code(of: error)
    }
}
#endif
