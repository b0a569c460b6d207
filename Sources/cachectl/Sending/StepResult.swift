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
    /// The request as it was sent.
    let request: Request
    let response: Result<Response, ConnectionError>
    let time: Duration
    /// The values of placeholders.
    let known: [String: JSONValue]
    /// The values that the request captures, also from a response that is not as expected.
    private(set) var found: [JSONValue] = []
    private(set) var problems: [Problem] = []
    /// The exit code of the failure; `nil` for a response as expected.
    private(set) var code: ExitCode?

    /// The names of the captured values.
    private(set) var captured: [String] = []

    /// The request, for JSON with a line for each.
    var form: JSONObject { ["request": number, "method": request.method.rawValue, "url": step.url] }

    /// Returns a text without the known texts.
    func masked(_ text: String) -> String { secrets.masked(text) }

    /// Returns the value of a field without the known texts and the secrets that names tell.
    func masked(_ field: HTTPField) -> String {
        // The known texts first: a text that is masked in part would not be found.
        SecretNames.masked(HTTPField(name: field.name, value: masked(field.value)))
    }

    private var secrets: SecretValues { SecretValues(textsOf: known.values + found) }

    /// Whether the body is not printed, because values of it may be secret: whatever the status is.
    var hidesBody: Bool { step.captures.contains { $0.part.isInBody } }

    var isQueued: Bool {
        if case .failure(let error) = response { error.code == .queued } else { false }
    }

    /// Checks the response, and captures values from one that is as expected.
    mutating func check(capturing captured: inout [String: CapturedValue]) throws {
        switch response {
        case .failure(let error): code = Failure.code(of: error)
        case .success(let response):
            let isExpected = response.status.code < 400 || step.assertions.contains(where: \.isAboutStatus)
            code = response.source == .generated ? Failure.nothingFound : isExpected ? nil : Failure.errorStatus
            guard !step.assertions.isEmpty || !step.captures.isEmpty else { return }
            let read = ReadResponse(response, time: time)
            found = step.captures.flatMap { read.traces(of: $0.part) }
            problems = try problems(of: read)
            if !problems.isEmpty { code = code ?? Failure.failedAssertion }
            if code == nil { capture(read, in: &captured) }
        }
    }

    private func problems(of response: ReadResponse) throws -> [Problem] {
        let values = Template.Values { [known] in known[$0] ?? .null }
        let secrets = secrets
        return try step.assertions.compactMap { assertion in
            var problem = try assertion.problem(of: response, with: values, secrets: secrets)
            if hides(assertion.part), response.value(of: assertion.part) != nil { problem?.found = "•••" }
            return problem
        }
    }

    /// Whether a part can have captured texts in a form that is not masked.
    private func hides(_ part: ResponsePart) -> Bool {
        switch part {
        case .body: hidesBody
        case .json: step.captures.contains { if case .body = $0.part { true } else { false } }
        case .status, .duration, .source, .header, .link: false
        }
    }

    private mutating func capture(_ response: ReadResponse, in captured: inout [String: CapturedValue]) {
        let origin = (try? RequestURL(request.url).originText) ?? ""
        for (name, part) in step.captures {
            guard let value = response.value(of: part) else {
                problems.append(Problem(subject: "'\(name)' cannot be captured", found: response.absence(of: part)))
                return code = Failure.missingValue
            }
            captured[name] = CapturedValue(json: value, origin: origin)
            self.captured.append(name)
        }
    }
}

extension SecretValues {
    /// The strings in values, as they are, and as a URL and a string of JSON have them.
    init(textsOf values: some Sequence<JSONValue>) {
        self.init(
            values.flatMap(\.texts).flatMap { text in
                [
                    text, String(decoding: PercentEncoding.encode(text.utf8), as: UTF8.self),
                    String(JSONValue.string(text).description.dropFirst().dropLast()),
                ]
            })
    }
}

extension JSONValue {
    fileprivate var texts: [String] {
        switch self {
        case .string(let text): [text]
        case .array(let elements): elements.flatMap(\.texts)
        case .object(let members): members.values.flatMap(\.texts)
        default: []
        }
    }
}
#endif
