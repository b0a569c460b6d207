#if Tools
import ArgumentParser
import Diamond
import Foundation

/// The requests of a source, which are sent in order: later ones have values that were captured from earlier responses.
struct RequestSequence: Sendable {
    let steps: [RequestStep]
    /// The variables of the environment that the requests name.
    private let environment: [String: JSONValue]
    /// Applies the options of the command to a request.
    private let change: @Sendable (Request) throws -> Request

    /// Reads and checks all requests.
    ///
    /// - Parameters:
    ///   - source: a URL, a curl command, or a file with one request, an array of them, or one in each line.
    ///   - assertions: conditions of every response.
    ///   - change: applies the options of the command to a request.
    /// - Throws: an error before anything is sent, if a request is malformed or has a placeholder without a value.
    init(
        _ source: String, assertions: [Assertion], change: @escaping @Sendable (Request) throws -> Request
    ) throws {
        let text = try RequestOptions.text(of: source)
        let file = text == nil || source == "-" ? nil : source
        var steps = try text.map { try Self.steps(in: $0, of: file) } ?? [RequestStep(RequestOptions.base(source))]
        for index in steps.indices { steps[index].assertions += assertions }
        let environment = ProcessInfo.processInfo.environment
        var used: [String: JSONValue] = [:]
        var captured: Set<String> = []
        for (index, step) in steps.enumerated() {
            let values = Template.Values { name in
                // Stands for a value that is not known yet.
                guard !captured.contains(name) else { return 1 }
                guard let text = environment[name], !text.isEmpty else {
                    let remedy = "set the variable, or capture '\(name)' from an earlier response"
                    throw MissingValue(message: "${\(name)} has no value: \(remedy)")
                }
                used[name] = .string(text)
                return .string(text)
            }
            let request = try Self.naming(index + 1, of: steps.count, in: file, hiding: { Array(used.values) }) {
                for assertion in step.assertions { try assertion.check(with: values) }
                return try step.request(with: values)
            }
            _ = try change(request)
            captured.formUnion(step.captures.map(\.name))
        }
        self.steps = steps
        self.environment = used
        self.change = change
    }

    // MARK: Reading

    private static func steps(in text: Data, of file: String?) throws -> [RequestStep] {
        let found = try naming(1, of: 1, in: file) { try requests(in: text) }
        return try found.enumerated().map { index, json in
            try naming(index + 1, of: found.count, in: file) { try RequestStep(json) }
        }
    }

    /// Returns the requests of a text: one, the elements of an array, or one in each line.
    private static func requests(in text: Data) throws(RequestError) -> [JSONValue] {
        do throws(RequestError) {
            let json = try value(of: text)
            guard case .array(let requests) = json else { return [json] }
            guard !requests.isEmpty else { throw RequestError(.malformedRequest, "there is no request: write one") }
            return requests
        } catch {
            let lines = text.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated().filter { _, line in
                line.contains { ![0x20, 0x09, 0x0D].contains($0) }
            }
            guard lines.count > 1, let first = lines.first?.element, (try? value(of: first)) != nil else { throw error }
            var requests: [JSONValue] = []
            for (number, line) in lines {
                do throws(RequestError) {
                    requests.append(try value(of: line))
                } catch {
                    let message = error.message.replacing("line 1,", with: "line \(number + 1),", maxReplacements: 1)
                    throw RequestError(error.code, message)
                }
            }
            return requests
        }
    }

    private static func value(of text: Data) throws(RequestError) -> JSONValue {
        do throws(JSONError) {
            // The levels of a request around a body, and the array around it.
            return try JSONValue(reading: text, maximumDepth: JSONTape.maximumDepth + 9)
        } catch {
            throw RequestError(error.code == .ambiguous ? .ambiguousJSON : .malformedJSON, error.message)
        }
    }

    /// Adds the file to an error, and the number of the request if there are several.
    ///
    /// - Parameters:
    ///   - number: the number of the request, from 1.
    ///   - count: the number of requests.
    ///   - file: the file; `nil` if there is none.
    ///   - values: returns the values whose texts are masked in the message.
    ///   - body: the work that may fail.
    private static func naming<Value>(
        _ number: Int, of count: Int, in file: String? = nil, hiding values: () -> [JSONValue] = { [] },
        _ body: () throws -> Value
    ) throws -> Value {
        let place = [file, count > 1 ? "request \(number)" : nil].compactMap { $0.map { "\($0): " } }.joined()
        do {
            return try body()
        } catch let error as RequestError {
            throw RequestError(error.code, place + SecretValues(textsOf: values()).masked(error.message))
        } catch let error as MissingValue {
            throw MissingValue(message: place + SecretValues(textsOf: values()).masked(error.message))
        }
    }

    // MARK: Sending

    /// Sends the requests, until one fails. A queued request whose response is not needed does not end the sequence.
    ///
    /// - Parameter receive: gets the result of each request.
    /// - Returns: the exit code of the failure, or of a queued request if no later one failed; otherwise `nil`.
    func run(with engine: Engine, receive: (StepResult) throws -> Void) async throws -> ExitCode? {
        var captured: [String: CapturedValue] = [:]
        var code: ExitCode?
        for (index, step) in steps.enumerated() {
            // Each name has a value: it was checked.
            let known = environment.merging(captured.mapValues(\.json)) { $1 }
            let values = Template.Values(captured: captured) { known[$0] ?? .null }
            let request = try Self.naming(index + 1, of: steps.count, hiding: { Array(known.values) }) {
                let request = try change(step.request(with: values))
                try step.checkOrigin(of: request, with: values)
                return request
            }
            let start = ContinuousClock.now
            let response = await engine.response(to: request)
            var result = StepResult(
                number: index + 1, step: step, request: request, response: response,
                time: ContinuousClock.now - start, known: known)
            try result.check(capturing: &captured)
            try receive(result)
            // A queued request may still succeed: a later failure is graver.
            if code == nil || code == Failure.queued { code = result.code ?? code }
            if result.code != nil, !result.isQueued || !step.captures.isEmpty || !step.assertions.isEmpty { break }
        }
        return code
    }
}

extension Engine {
    func response(to request: Request) async -> Result<Response, ConnectionError> {
        do throws(ConnectionError) { return .success(try await send(request)) } catch { return .failure(error) }
    }
}
#endif
