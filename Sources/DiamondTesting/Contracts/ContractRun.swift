/// A check of a storage's contract that runs.
protocol ContractRun: Sendable {}

/// A broken rule of a contract.
struct ContractViolation: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension ContractRun {
    func expect(_ isRight: Bool, _ rule: @autoclosure () -> String) throws(ContractViolation) {
        if !isRight { throw ContractViolation(rule()) }
    }

    func expectEqual<Value: Equatable>(
        _ found: Value, _ expected: Value, _ what: @autoclosure () -> String
    ) throws(ContractViolation) {
        try expect(found == expected, "\(what()) is \(found), not \(expected)")
    }

    /// Returns a value, or throws a violation if there is none.
    func require<Value>(_ found: Value?, _ rule: @autoclosure () -> String) throws(ContractViolation) -> Value {
        guard let found else { throw ContractViolation(rule()) }
        return found
    }
}

/// A check of a storage's contract.
protocol ContractCheck: Sendable, CustomStringConvertible {
    associatedtype Run: ContractRun

    var body: @Sendable (Run) async throws -> Void { get }
}

extension ContractCheck {
    /// Runs the check, and returns its failure in one line; `nil` if it passes.
    func failure(in makeRun: () async throws -> Run) async -> String? {
        do {
            try await body(makeRun())
            return nil
        } catch {
            return "\(self): \(error)"
        }
    }
}
