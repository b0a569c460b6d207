#if Tools
import ArgumentParser
import Diamond

/// A condition that the printed events meet: `kind=ended`, `url~/cities`, `milliseconds>100`. An event without the
/// field does not meet it.
struct EventCondition: Sendable {
    private enum Comparison: Character {
        case equal = "="
        case contains = "~"
        case greater = ">"
        case less = "<"
    }

    private let field: String
    private let comparison: Comparison
    private let value: String
    /// The value as a number, which `>` and `<` compare with.
    private let number: Double?

    init(argument: String) throws {
        guard let index = argument.firstIndex(where: { Comparison(rawValue: $0) != nil }),
            let comparison = Comparison(rawValue: argument[index])
        else { throw ValidationError("write FIELD=VALUE, FIELD~PART, FIELD>NUMBER or FIELD<NUMBER") }
        field = String(argument[..<index])
        value = String(argument[argument.index(after: index)...])
        self.comparison = comparison
        number = Double(value)
        guard RecordedEvent.fields.contains(field) else {
            throw ValidationError("'\(field)' is no field: use one of \(RecordedEvent.fields.joined(separator: ", "))")
        }
        guard number != nil || ![.greater, .less].contains(comparison) else {
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
        }
    }
}
#endif
