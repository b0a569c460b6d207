#if Tools
import ArgumentParser
import Diamond
import DiamondSQLite
import Foundation

/// The exit codes of failures. `cachectl --help` lists them.
enum Failure {
    static let nothingFound = ExitCode(1)
    static let different = ExitCode(1)
    static let damaged = ExitCode(1)
    static let wrongState = ExitCode(1)
    static let errorStatus = ExitCode(2)
    static let noResponse = ExitCode(3)
    static let noStore = ExitCode(4)
    static let sealed = ExitCode(5)
    static let queued = ExitCode(6)
    static let failedAssertion = ExitCode(7)
    static let missingValue = ExitCode(8)
    static let usage = ExitCode(64)
    static let noOutput = ExitCode(74)
    /// The exit code that a shell gives a program that SIGPIPE has ended.
    static let closedPipe = ExitCode(128 + SIGPIPE)

    /// Prints a message in one line, and returns the exit code to throw.
    static func report(_ code: ExitCode, _ message: String) -> ExitCode {
        Output.note("cachectl: \(message)")
        return code
    }

    /// Prints the message of an error of Diamond, and returns its exit code. Returns other errors as they are.
    static func reported(_ error: any Error) -> any Error {
        switch error {
        case let error as CacheError: report(noStore, error.message)
        case let error as RequestError: report(usage, error.message)
        case let error as ReplayError: report(code(of: error), error.message + remedy(of: error))
        case let error as ConnectionError: report(code(of: error), error.message + remedy(of: error))
        case let error as MissingValue: report(missingValue, error.message)
        default: error
        }
    }

    private static func remedy(of error: ReplayError) -> String {
        error.code == .cannotSeal ? ": give its key with --key-file or in \(SealKeys.variable)" : ""
    }

    private static func remedy(of error: ConnectionError) -> String {
        guard error.code == .noCredential else { return "" }
        return "; cachectl has the secrets of the environment: 'github-token' is GITHUB_TOKEN"
    }

    static func code(of error: ReplayError) -> ExitCode {
        switch error.code {
        case .badRequest: usage
        case .cannotSeal: sealed
        case .noJob: nothingFound
        case .queueFull, .wrongState, .notUnique, .cannotMerge: wrongState
        default: noStore
        }
    }

    static func code(of error: ConnectionError) -> ExitCode {
        switch error.code {
        case .badRequest, .badSettings, .noCredential: usage
        case .queued: queued
        case .cannotQueue: noStore
        default: noResponse
        }
    }
}

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
