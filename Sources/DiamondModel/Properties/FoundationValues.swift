public import Diamond
public import Foundation

// The types of Foundation that a property can hold without a codec.

extension Decimal: ModelValue {
    /// Creates the exact number, or returns `nil` if it has more than 38 digits.
    public init?(json: JSONValue) { self.init(exactly: json) }

    public var json: JSONValue { JSONValue(self) ?? .null }
}

extension Date: TextValue {
    static let refusal = "is not a date with time, such as 2031-12-24T18:30:00Z"

    /// Reads text in the form of RFC 3339, as ``Codec/iso8601`` does.
    init?(jsonText text: String) {
        guard let date = InternetTime.date(text) else { return nil }
        self = date
    }

    /// Text in the form of RFC 3339, in UTC; `null` for a date that is not finite.
    public var json: JSONValue { InternetTime.text(self).map(JSONValue.string) ?? .null }
}

extension URL: TextValue {
    static let refusal = "is not a URL with a scheme, such as https://example.com"

    /// Reads a URL with a scheme.
    init?(jsonText text: String) {
        guard let url = URL(string: text), url.scheme != nil else { return nil }
        self = url
    }

    public var json: JSONValue { .string(absoluteString) }
}

extension UUID: TextValue {
    static let refusal = "is not a UUID"

    /// Reads the 36 characters of a UUID in capital or small letters.
    init?(jsonText text: String) { self.init(uuidString: text) }

    /// Text in small letters, the form of output in RFC 4122 section 3.
    public var json: JSONValue { .string(uuidString.lowercased()) }
}

/// A value that is a text in JSON.
protocol TextValue: ModelValue {
    /// The reason for which other texts are refused.
    static var refusal: String { get }

    init?(jsonText text: String)
}

extension TextValue {
    public init?(json: JSONValue) {
        guard case .string(let text) = json else { return nil }
        self.init(jsonText: text)
    }

    public init?(json: JSONValue, repairs: inout RepairLog) {
        guard let value = Self(json: json) else {
            // Other JSON is of the wrong type.
            if case .string = json { repairs.refuse(because: Self.refusal) }
            return nil
        }
        self = value
    }
}
