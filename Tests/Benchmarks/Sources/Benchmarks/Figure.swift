import Foundation

/// What a benchmark found.
struct Figure: Encodable {
    var name: String
    var value: Double
    var unit: String
    var target: String
    var isMet: Bool
    var method: String

    /// `NAME VALUE UNIT TARGET ok|short` between tabs, under a line that tells the method.
    var lines: String {
        let fields = [name, String(format: "%.2f", value), unit, target, isMet ? "ok" : "short"]
        return "# \(method)\n" + fields.joined(separator: "\t")
    }
}
