import Foundation

/// The result of a benchmark.
struct Figure: Encodable {
    var name: String
    var value: Double
    var unit: String
    var target: String
    var isMet: Bool
    var method: String
    var notes: [String]

    /// `NAME VALUE UNIT TARGET ok|short`, separated by tabs, after lines with the method and notes.
    var lines: String {
        let fields = [name, String(format: "%.2f", value), unit, target, isMet ? "ok" : "short"]
        return ([method] + notes).map { "# \($0)\n" }.joined() + fields.joined(separator: "\t")
    }
}
