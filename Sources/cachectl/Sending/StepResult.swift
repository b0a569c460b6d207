#if Tools
import ArgumentParser
import Diamond
import Foundation
import HTTPTypes

/// The response to a request of a sequence, or its failure.
struct StepResult {
    /// An assertion that failed, or a value that could not be captured.
    struct Problem {
        var subject: String
        /// The part of the response.
        var found: String

        var message: String { "\(subject): it is \(found)" }
    }

    /// The number of the request in the sequence, from 1.
    let number: Int
    let step: RequestStep
    let method: HTTPRequest.Method
    let response: Result<Response, ConnectionError>
    let time: Duration
    /// The values of placeholders, and those that were captured from the response.
    private(set) var known: [String: JSONValue]
    private(set) var problems: [Problem] = []
    /// The exit code of the failure; `nil` for a response as expected.
    private(set) var code: ExitCode?

    /// The names of the captured values.
    private(set) var captured: [String] = []

    /// The request, for JSON with a line for each.
    var form: JSONObject { ["request": number, "method": method.rawValue, "url": step.url] }

    /// Returns a text without the known texts.
    func masked(_ text: String) -> String { secrets.masked(text) }

    /// The known texts, as they are and as a URL has them.
    private var secrets: SecretValues {
        SecretValues(
            known.values.flatMap { value -> [String] in
                guard case .string(let text) = value else { return [] }
                return [text, String(decoding: PercentEncoding.encode(text.utf8), as: UTF8.self)]
            })
    }

    /// Whether the body is not printed, because values of it may be secret.
    var hidesBody: Bool {
        guard case .success(let response) = response else { return false }
        return response.status.code < 400 && step.captures.contains { $0.part.isInBody }
    }

    var isQueued: Bool {
        if case .failure(let error) = response { error.code == .queued } else { false }
    }

    /// Checks the response, and captures values from one that is as expected.
    mutating func check(capturing captured: inout [String: JSONValue]) throws {
        switch response {
        case .failure(let error): code = Failure.code(of: error)
        case .success(let response):
            let isExpected = response.status.code < 400 || step.assertions.contains(where: \.isAboutStatus)
            code = response.source == .generated ? Failure.nothingFound : isExpected ? nil : Failure.errorStatus
            guard !step.assertions.isEmpty || !step.captures.isEmpty else { return }
            let read = ReadResponse(response, time: time)
            let known = known
            let secrets = secrets
            problems = try step.assertions.compactMap {
                try $0.problem(of: read, with: { known[$0] ?? .null }, secrets: secrets)
            }
            if !problems.isEmpty { code = code ?? Failure.failedAssertion }
            if code == nil { capture(read, in: &captured) }
        }
    }

    private mutating func capture(_ response: ReadResponse, in captured: inout [String: JSONValue]) {
        for (name, part) in step.captures {
            guard let value = response.value(of: part) else {
                problems.append(Problem(subject: "'\(name)' cannot be captured", found: response.absence(of: part)))
                return code = Failure.missingValue
            }
            captured[name] = value
            known[name] = value
            self.captured.append(name)
        }
    }
}
#endif
