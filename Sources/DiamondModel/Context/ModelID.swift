public import Diamond
import Foundation

/// The id of a model: a number or text from the server, or a local id of an object that has none yet.
///
/// A number of any size and its decimal text are one id: `7` and `"7"`, not `"07"`. Texts are compared byte by byte.
public struct ModelID: Sendable {
    private enum Value: Hashable, Sendable {
        case number(Int64)
        /// Text, or the digits of an integer beyond `Int64`.
        case text(ExactText)
        case local(UUID)
    }

    private let value: Value
    /// Whether the number was written as text.
    private let isQuoted: Bool

    private init(_ value: Value, isQuoted: Bool = false) {
        self.value = value
        self.isQuoted = isQuoted
    }

    public init(_ number: some BinaryInteger) { self.init(String(number), isQuoted: false) }

    init(int64 number: Int64) { self.init(.number(number)) }

    public init(_ text: String) { self.init(text, isQuoted: true) }

    private init(_ text: String, isQuoted: Bool) {
        if let number = Int64(text), String(number) == text {
            self.init(.number(number), isQuoted: isQuoted)
        } else {
            self.init(.text(ExactText(text)), isQuoted: isQuoted)
        }
    }

    /// Creates an id from JSON; `nil` for empty text, and for JSON that is neither text nor a whole number.
    public init?(json: JSONValue) {
        switch json {
        case .integer(let number): self.init(int64: number)
        case .string(let text) where !text.isEmpty: self.init(text)
        default:
            guard let digits = json.integerText else { return nil }
            // Beyond 2^53 a double represents several integers. Larger ones stand for their shortest digits.
            if case .number = json, let number = Int64(digits), number.magnitude > 1 << 53 { return nil }
            self.init(digits, isQuoted: false)
        }
    }

    /// Creates the local id with a description; `nil` for other text.
    init?(local text: String) {
        guard text.hasPrefix("local:"), let id = UUID(uuidString: String(text.dropFirst(6))) else { return nil }
        self.init(.local(id))
    }

    /// Reads a reference to an object: its id, its local id as text, or the object itself.
    init?(reference json: JSONValue, idKey: String) {
        var json = json
        if case .object(let object) = json { json = object[idKey] ?? .null }
        if case .string(let text) = json, let local = ModelID(local: text) {
            self = local
        } else {
            self.init(json: json)
        }
    }

    /// The id as a reference to its object: text for a local id.
    var reference: JSONValue { isLocal ? .string(description) : json }

    static func makeLocal() -> ModelID { ModelID(.local(UUID())) }

    /// Whether the server does not know the id: it was created on this device.
    public var isLocal: Bool {
        if case .local = value { true } else { false }
    }

    /// The id in the form in which the server wrote it; `null` for a local id.
    public var json: JSONValue {
        switch value {
        case .number(let number): isQuoted ? .string(String(number)) : .integer(number)
        case .text(let text): isQuoted ? .string(text.text) : JSONValue(number: text.text) ?? .string(text.text)
        case .local: .null
        }
    }
}

extension ModelID: Hashable {
    public static func == (left: ModelID, right: ModelID) -> Bool { left.value == right.value }
    public func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

extension ModelID: CustomStringConvertible {
    public var description: String {
        switch value {
        case .number(let number): String(number)
        case .text(let text): text.text
        case .local(let id): "local:\(id.uuidString)"
        }
    }
}

extension ModelID: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
    public init(integerLiteral number: Int64) { self.init(number) }
    public init(stringLiteral text: String) { self.init(text) }
}

/// Encodes a number or text. A local id is text that begins with `local:`.
extension ModelID: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int64.self) { self.init(number); return }
        if (try? container.decode(Double.self)) != nil, let id = ModelID(json: try container.decode(JSONValue.self)) {
            self = id
            return
        }
        let text = try container.decode(String.self)
        self = ModelID(local: text) ?? ModelID(text)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if !isLocal, !isQuoted { return try container.encode(json) }
        try container.encode(description)
    }
}

/// An id with the class of its model. It can be sent between isolation domains.
///
/// A property with such a value refers to another object, which may be new. A save then waits in the queue until the
/// server has created that object (<doc:Queueing>).
public struct TypedID<Object: Model>: Hashable, Sendable, Codable {
    public let value: ModelID

    public init(_ value: ModelID) { self.value = value }

    public init(from decoder: any Decoder) throws { value = try ModelID(from: decoder) }

    public func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

/// It is read from an id, or from an object with an id.
extension TypedID: ModelValue {
    public init?(json: JSONValue) {
        guard let id = ModelID(reference: json, idKey: Object.idKey) else { return nil }
        self.init(id)
    }

    /// The id; text that begins with `local:` if the server has not assigned one yet.
    public var json: JSONValue { value.reference }
}
