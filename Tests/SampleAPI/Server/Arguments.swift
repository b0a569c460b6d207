import Foundation

/// Named parameters that are taken one after another; what is left at the end is unknown to the route.
struct Arguments: Sendable {
    struct Argument: Sendable, Equatable {
        let name: String
        /// Nil when the text cannot be percent-decoded.
        let value: String?
    }

    private(set) var remaining: [Argument]

    init(_ arguments: [Argument]) {
        remaining = arguments
    }

    init(query: String?) {
        remaining = (query ?? "").split(separator: "&").map(Argument.init)
    }

    mutating func text(_ name: String) throws(Problem) -> String? {
        let found = remaining.filter { $0.name == name }
        remaining.removeAll { $0.name == name }
        guard let first = found.first else { return nil }
        guard found.count == 1 else { throw .invalid(name, "must be given once") }
        guard let value = first.value else { throw .invalid(name, "is not percent-encoded UTF-8") }
        return value
    }

    mutating func number(_ name: String, in range: ClosedRange<Int>) throws(Problem) -> Int? {
        guard let text = try text(name) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw .invalid(name, "must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    mutating func milliseconds(_ name: String) throws(Problem) -> Duration? {
        try number(name, in: 0...600_000).map { .milliseconds($0) }
    }

    mutating func flag(_ name: String) throws(Problem) -> Bool {
        switch try text(name) {
        case nil, "0", "false": false
        case "1", "true": true
        default: throw .invalid(name, "must be 1 or 0")
        }
    }

    /// Refuses what no one has taken.
    func finish() throws(Problem) {
        guard let unknown = remaining.first else { return }
        throw .invalid(unknown.name, "is not a parameter of this route")
    }
}

extension Arguments.Argument {
    /// `name=value` as forms write it, where a plus sign is a space.
    init(_ pair: some StringProtocol) {
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let texts = parts.map { $0.replacingOccurrences(of: "+", with: " ").removingPercentEncoding }
        name = texts[0] ?? String(parts[0])
        value = texts.count > 1 ? texts[1] : ""
    }
}
