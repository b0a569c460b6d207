#if Tools
import Diamond
import Foundation

/// A condition that a response has to meet: `status == 200`, `/items/0/name contains "Paris"`.
struct Assertion: Sendable {
    private enum Comparison: String {
        case equal = "=="
        case different = "!="
        case less = "<"
        case lessOrEqual = "<="
        case greater = ">"
        case greaterOrEqual = ">="
        case contains, matches, exists

        /// The order of two numbers that meets the comparison; `nil` for a comparison of other values, too.
        var order: ((Double, Double) -> Bool)? {
            switch self {
            case .less: { $0 < $1 }
            case .lessOrEqual: { $0 <= $1 }
            case .greater: { $0 > $1 }
            case .greaterOrEqual: { $0 >= $1 }
            case .equal, .different, .contains, .matches, .exists: nil
            }
        }
    }

    /// The value that a part is compared with.
    private struct Operand {
        /// The value as JSON: that of a JSON text, otherwise the text.
        let json: JSONValue
        /// The value as text: a JSON string without quotation marks, otherwise the text as written.
        let text: String

        init(_ template: Template, with values: Template.Values) throws {
            let written = template.isValue ? nil : try template.text(with: values)
            json = try written.map { (try? JSONValue(reading: $0.utf8)) ?? .string($0) } ?? template.value(with: values)
            text = if case .string(let content) = json { content } else { written ?? json.description }
        }
    }

    let part: ResponsePart
    /// The part and the comparison, as written.
    private let name: String
    private let comparison: Comparison
    private let expected: Template

    init(_ text: String) throws(RequestError) {
        let form = /\s*(.+?)\s+(==|!=|<=|>=|<|>|contains|matches|exists)(?:\s+(.*?))?\s*/
            .dotMatchesNewlines().matchingSemantics(.unicodeScalar)
        guard let match = text.wholeMatch(of: form), let comparison = Comparison(rawValue: String(match.output.2)),
            (comparison == .exists) == (match.output.3 ?? "").isEmpty
        else {
            throw RequestError(
                .malformedRequest,
                "an assertion is malformed: write a part, a comparison (==, !=, <, <=, >, >=, contains, matches or "
                    + "exists) and a value, with spaces, such as 'status == 200' or '/id exists'")
        }
        part = try ResponsePart(String(match.output.1))
        name = "\(match.output.1) \(match.output.2)"
        self.comparison = comparison
        expected = try Template(String(match.output.3 ?? ""))
    }

    /// Whether the assertion is about the status.
    var isAboutStatus: Bool { if case .status = part { true } else { false } }

    /// Refuses an operand that the comparison does not take.
    func check(with values: Template.Values) throws {
        let operand = try Operand(expected, with: values)
        if comparison.order != nil, number(of: operand.json, text: operand.text) == nil {
            throw RequestError(.malformedRequest, "'\(name)' compares numbers: write a number after it")
        }
        if comparison == .matches, (try? Regex(operand.text)) == nil {
            throw RequestError(.malformedRequest, "'\(name)' has a malformed regular expression after it: correct it")
        }
    }

    /// Returns the problem of a response; `nil` if it meets the condition.
    func problem(
        of response: ReadResponse, with values: Template.Values, secrets: SecretValues
    ) throws -> StepResult.Problem? {
        let operand = try Operand(expected, with: values)
        let actual = response.value(of: part)
        if let actual, holds(for: actual, operand: operand) { return nil }
        let shown = part.shown(part.isText ? .string(operand.text) : operand.json, secrets: secrets)
        return StepResult.Problem(
            subject: "assertion '\(name)\(comparison == .exists ? "" : " \(shown)")' failed",
            found: actual.map { part.shown($0, secrets: secrets) } ?? response.absence(of: part))
    }

    private func holds(for actual: JSONValue, operand expected: Operand) -> Bool {
        switch comparison {
        case .equal: return isEqual(actual, to: expected)
        case .different: return !isEqual(actual, to: expected)
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            guard let order = comparison.order, let one = number(of: actual, text: Self.text(of: actual)),
                let other = number(of: expected.json, text: expected.text)
            else { return false }
            return order(one, other)
        case .contains:
            if case .array(let elements) = actual { return elements.contains(expected.json) }
            return Array(Self.text(of: actual).utf8).firstRange(of: Array(expected.text.utf8)) != nil
        case .matches: return (try? Regex(expected.text).firstMatch(in: Self.text(of: actual))) != nil
        case .exists: return true
        }
    }

    private func isEqual(_ actual: JSONValue, to expected: Operand) -> Bool {
        part.isText ? Self.text(of: actual).isExactly(expected.text) : actual == expected.json
    }

    /// Returns a number of JSON, or that of a text if the part is text.
    private func number(of json: JSONValue, text: String) -> Double? {
        json.numberText.flatMap { Double($0) } ?? (part.isText ? Double(text) : nil)
    }

    private static func text(of value: JSONValue) -> String {
        if case .string(let text) = value { text } else { value.description }
    }
}
#endif
