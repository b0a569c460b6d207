/// The body of a QUERY: an object of the same names and values as a GET's parameters.
struct QueryBody: Decodable, Sendable {
    let arguments: Arguments

    init(from decoder: any Decoder) throws {
        let members = try decoder.singleValueContainer().decode([String: Scalar].self)
        let sorted = members.sorted { $0.key < $1.key }
        arguments = Arguments(sorted.map { Arguments.Argument(name: $0, value: $1.text) })
    }

    /// A number or a text; clients may write either.
    private struct Scalar: Decodable {
        let text: String

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let number = try? container.decode(Int.self) {
                text = String(number)
            } else {
                text = try container.decode(String.self)
            }
        }
    }
}
