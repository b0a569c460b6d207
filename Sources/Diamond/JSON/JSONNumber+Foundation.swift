package import Foundation

extension Foundation.Decimal {
    /// Creates the number in JSON; `nil` if it has more than the 38 digits that the type holds, and for other JSON.
    package init?(exactly json: JSONValue) {
        guard let text = json.numberText, let decimal = Foundation.Decimal(string: text),
            JSONValue(decimal) == json
        else { return nil }
        self = decimal
    }
}

extension JSONValue {
    /// Creates a number; `nil` if it is not finite.
    package init?(_ decimal: Foundation.Decimal) {
        guard decimal.isFinite, let value = JSONNumber.value(of: decimal.description) else {
            return nil
        }
        self = value
    }
}
