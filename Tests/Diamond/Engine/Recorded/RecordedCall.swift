import Diamond
import DiamondSQLite
import Foundation
import HTTPTypes

/// One call of a recorded run, and its result.
final class RecordedCall: Sendable {
    /// The ways to send a request.
    enum Kind: String, CaseIterable {
        case connection, callback, file, send, typed, stream, shared, download, replay
    }

    private struct State {
        var facts: [String] = []
        var changes = 0
        var open = 0
        var callbacks = 0
        var task: Task<Void, Never>?
    }

    let number: Int
    let kind: Kind
    let request: Request
    /// `nil` where it is a call of a task.
    let connection: Connection?
    private let state = Guarded(State())

    init(_ number: Int, _ kind: Kind, _ request: Request, _ connection: Connection? = nil) {
        self.number = number
        self.kind = kind
        self.request = request
        self.connection = connection
    }

    /// Whether the call has ended for all its waiters.
    var isOver: Bool { state.withLock { $0.open == 0 } && connection.map(\.isFinished) ?? true }

    /// The number of recorded facts.
    var changes: Int { state.withLock { $0.changes } }

    /// Returns the facts since the last call, in order.
    func takeFacts() -> [String] {
        state.withLock { state in
            defer { state.facts = [] }
            return state.facts.filter { $0.hasPrefix("state") } + state.facts.filter { !$0.hasPrefix("state") }.sorted()
        }
    }

    /// Returns, for a step in which everything ends at once in no order, only that the call ended, and the number of
    /// its callbacks.
    func takeEnds() -> [String] {
        takeFacts().filter { !$0.hasPrefix("state") }.map { fact in
            fact.hasPrefix("callback") ? fact.split(separator: " ").prefix(2).joined(separator: " ") : "ended"
        }
    }

    private func note(_ fact: String) {
        state.withLock { state in
            state.facts.append(fact)
            state.changes += 1
        }
    }

    private func close() {
        state.withLock { state in
            state.open -= 1
            state.changes += 1
        }
    }

    // MARK: Running

    /// Runs the body of the call in a task.
    func run(_ body: @escaping @Sendable () async throws -> String) {
        state.withLock { $0.open += 1 }
        let task = Task { [self] in
            do { note("success \(try await body())") } catch { note("failure \(Self.text(error))") }
            close()
        }
        state.withLock { $0.task = task }
    }

    /// Cancels the task, or the connection.
    func cancel() {
        connection?.cancel()
        state.withLock { $0.task }?.cancel()
    }

    /// Records the states and the result of its connection.
    ///
    /// - Parameter since: the start of the clock.
    func watch(since begin: Date) {
        guard let connection else { return }
        let states = connection.states
        let connectionFile = connection.file
        state.withLock { $0.open += 3 }
        Task { [self] in
            for await state in states where state != .ready { note("state \(Self.text(state, since: begin))") }
            close()
        }
        Task { [self] in
            do throws(ConnectionError) {
                note("success \(Self.text(try await connection.response, in: connectionFile))")
            } catch {
                note("failure \(Self.text(error))")
            }
            close()
        }
        connection.onResult { [self] result in
            let count = state.withLock { state in
                state.callbacks += 1
                return state.callbacks
            }
            note("callback \(count) \(result.isSuccess ? "success" : "failure")")
            close()
        }
    }

    // MARK: Texts

    static func text(_ response: Response, in file: URL? = nil) -> String {
        let body = file.flatMap { try? Data(contentsOf: $0) } ?? response.body
        return "\(response.status.code) \(response.source.rawValue) \(response.url.short) \(text(body))"
            + text(response.attempts)
    }

    static func text(_ body: Data) -> String {
        "\(body.count)/\(RunDigest.text(of: body).suffix(6))"
    }

    static func text(_ attempts: [Attempt]) -> String {
        guard !attempts.isEmpty else { return "" }
        let texts = attempts.map { attempt in
            let delay = attempt.delay.map { " after \(Int($0 / .milliseconds(1))) ms" } ?? ""
            return "\(attempt.number) \(attempt.reason?.code.description ?? "none")\(delay)"
        }
        return " [" + texts.joined(separator: ", ") + "]"
    }

    static func text(_ error: any Error) -> String {
        guard let error = error as? ConnectionError else { return "\(type(of: error))" }
        var text = error.code.description
        if error.jobID != nil { text += " with job" }
        if let response = error.response { text += " (\(self.text(response)))" }
        if let cause = error.cause { text += " because of \(self.text(cause: cause))" }
        return text + self.text(error.attempts)
    }

    private static func text(cause: any Error) -> String {
        switch cause {
        case let error as TransportError: "\(error.code)\(error.serverMayHaveActed ? ", sent" : "")"
        case let error as ReplayError: "\(error.code)"
        case let error as ConnectionError: "\(error.code)"
        default: "\(type(of: cause))"
        }
    }

    private static func text(_ state: ConnectionState, since begin: Date) -> String {
        guard case .waiting(let date) = state else { return state.description }
        return "waiting until \(Int((date.timeIntervalSince(begin) * 1000).rounded())) ms"
    }
}

extension Result {
    fileprivate var isSuccess: Bool { if case .success = self { true } else { false } }
}

extension String {
    /// A URL without its scheme.
    var short: String { replacing("https://", with: "") }
}
