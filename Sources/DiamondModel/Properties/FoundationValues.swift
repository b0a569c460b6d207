public import Diamond
public import Foundation

// The types of Foundation that a property can hold without a codec.

extension Decimal: ModelValue {
    /// Creates the exact number, or returns `nil` if it has more than 38 digits.
    public init?(json: JSONValue) { self.init(exactly: json) }

    public var json: JSONValue { JSONValue(self) ?? .null }
}

extension Date: ModelValue {
    /// Reads text in the form of RFC 3339, as ``Codec/iso8601`` does.
    public init?(json: JSONValue) {
        guard case .string(let text) = json, let date = InternetTime.date(text) else { return nil }
        self = date
    }

    public init?(json: JSONValue, repairs: inout RepairLog) {
        guard let date = Date(json: json) else {
            repairs.refuse(text: json, because: "is not a date with time, such as 2031-12-24T18:30:00Z")
            return nil
        }
        self = date
    }

    /// Text in the form of RFC 3339, in UTC; `null` for a date that is not finite.
    public var json: JSONValue { InternetTime.text(self).map(JSONValue.string) ?? .null }
}

extension URL: ModelValue {
    /// Reads a URL with a scheme.
    public init?(json: JSONValue) {
        guard case .string(let text) = json, let url = URL(string: text), url.scheme != nil else { return nil }
        self = url
    }

    public init?(json: JSONValue, repairs: inout RepairLog) {
        guard let url = URL(json: json) else {
            repairs.refuse(text: json, because: "is not a URL with a scheme, such as https://example.com")
            return nil
        }
        self = url
    }

    public var json: JSONValue { .string(absoluteString) }
}

extension UUID: ModelValue {
    /// Reads the 36 characters of a UUID in capital or small letters.
    public init?(json: JSONValue) {
        guard case .string(let text) = json, let id = UUID(uuidString: text) else { return nil }
        self = id
    }

    public init?(json: JSONValue, repairs: inout RepairLog) {
        guard let id = UUID(json: json) else {
            repairs.refuse(text: json, because: "is not a UUID")
            return nil
        }
        self = id
    }

    /// Text in small letters, the form of output in RFC 4122 section 3.
    public var json: JSONValue { .string(uuidString.lowercased()) }
}

extension RepairLog {
    /// Sets the reason for which a text is refused. Other JSON is of the wrong type.
    fileprivate mutating func refuse(text json: JSONValue, because reason: String) {
        if case .string = json { refuse(because: reason) }
    }
}
