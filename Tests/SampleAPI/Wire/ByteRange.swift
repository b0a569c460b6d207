/// What a `Range` field asks for: https://www.rfc-editor.org/rfc/rfc9110.html#section-14.2
enum ByteRange: Equatable, Sendable {
    /// No range, or one that the server does not serve, such as several at once.
    case whole
    case part(Range<Int>)
    case unsatisfiable

    init(_ field: String?, of length: Int) {
        let pattern = #/bytes=(?<first>\d*)-(?<last>\d*)/#
        guard let match = field?.wholeMatch(of: pattern) else {
            self = .whole
            return
        }
        self = Self.range(Int(match.first), Int(match.last), length)
    }

    private static func range(_ first: Int?, _ last: Int?, _ length: Int) -> ByteRange {
        switch (first, last) {
        case (nil, nil): .whole
        case (nil, let suffix?): part(from: max(0, length - suffix), to: length, length)
        case (let first?, nil): part(from: first, to: length, length)
        case (let first?, let last?) where last < first: .whole
        case (let first?, let last?): part(from: first, to: min(last, length - 1) + 1, length)
        }
    }

    private static func part(from first: Int, to end: Int, _ length: Int) -> ByteRange {
        first < end && end <= length ? .part(first..<end) : .unsatisfiable
    }
}
