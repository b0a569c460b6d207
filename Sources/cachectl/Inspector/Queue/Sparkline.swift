#if Tools
/// A line through numbers, in a box of 100 by 20.
struct Sparkline {
    /// The points of an SVG polyline; empty without numbers.
    let points: String
    /// The line in words.
    let label: String

    init(_ values: [Int]) {
        let largest = max(1, values.max() ?? 1)
        // One number is a line, too.
        let ends = values.count == 1 ? values + values : values
        points = ends.enumerated().map { index, value in
            "\(index * 100 / (ends.count - 1)),\(19 - max(0, value) * 18 / largest)"
        }.joined(separator: " ")
        let (first, last) = (values.first ?? 0, values.last ?? 0)
        label = "from \(first) to \(last), at most \(values.max() ?? 0)"
    }
}
#endif
