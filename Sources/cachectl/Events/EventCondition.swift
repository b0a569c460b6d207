#if Tools
import ArgumentParser
import Diamond

/// A condition that the printed events meet: `kind=ended`, `url~/cities`, `milliseconds>100`. An event without the
/// field does not meet it.
struct EventCondition: Sendable {
    private enum Comparison: String, CaseIterable {
        case atLeast = ">="
        case atMost = "<="
        case equal = "="
        case contains = "~"
        case greater = ">"
        case less = "<"

        var isOfNumbers: Bool { ![.equal, .contains].contains(self) }
    }

    private let field: String
    private let comparison: Comparison
    private let value: String
    /// The value as a number, which all but `=` and `~` compare with.
    private let number: Double?

    init(argument: String) throws {
        guard let index = argument.firstIndex(where: { "=~<>".contains($0) }),
            let comparison = Comparison.allCases.first(where: { argument[index...].hasPrefix($0.rawValue) })
        else { throw ValidationError("write FIELD=VALUE, FIELD~PART, FIELD>NUMBER, or with >=, < or <=") }
        field = String(argument[..<index])
        value = String(argument[index...].dropFirst(comparison.rawValue.count))
        self.comparison = comparison
        number = Double(value)
        guard RecordedEvent.fields.contains(field) else {
            throw ValidationError("'\(field)' is no field: use one of \(RecordedEvent.fields.joined(separator: ", "))")
        }
        guard number != nil || !comparison.isOfNumbers else {
            throw ValidationError("'\(argument)' compares numbers: write a number after \(comparison.rawValue)")
        }
    }

    /// Whether an event meets the condition. One of several tags is enough.
    func holds(for event: RecordedEvent) -> Bool {
        if case .array(let values) = event.json[field] { return values.contains(where: holds) }
        return holds(for: event.json[field])
    }

    private func holds(for actual: JSONValue) -> Bool {
        guard actual != .null else { return false }
        let text = if case .string(let text) = actual { text } else { actual.description }
        guard let number else { return comparison == .contains ? text.contains(value) : text == value }
        let other = actual.numberText.flatMap { Double($0) }
        return switch comparison {
        case .equal: text == value || other == number
        case .contains: text.contains(value)
        case .greater: other.map { $0 > number } ?? false
        case .less: other.map { $0 < number } ?? false
        case .atLeast: other.map { $0 >= number } ?? false
        case .atMost: other.map { $0 <= number } ?? false
        }
    }
}
#endif
