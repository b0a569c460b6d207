import Foundation

/// A scanned text with the settings of its decoder. It lives as long as a decoder or container that reads it.
final class TapedText {
    /// Below the 512 levels of `JSONDecoder`.
    private static let maximumDepth = 500

    private let tape: CopiedTape
    let settings: DecodingSettings
    /// The names that `convertFromSnakeCase` has converted.
    private var convertedNames: [ExactText: String] = [:]
    /// Whether a value was asked for that only `JSONDecoder` decides.
    private(set) var isUndecided = false

    init(_ data: Data, settings: DecodingSettings) throws {
        tape = try CopiedTape(scanning: data, ambiguities: .ignored, maximumDepth: Self.maximumDepth)
        self.settings = settings
    }

    var root: JSONElement { tape.root }

    /// Returns an error for a value that only `JSONDecoder` decides. The result of the decoding is not used, even if a
    /// type catches the error.
    func undecided() -> any Error {
        isUndecided = true
        return Unrepresentable()
    }

    /// Returns a member's name as the key strategy converts it.
    func convertedName(_ name: String, at place: CodingPlace?) -> String {
        switch settings.keys {
        case .convertFromSnakeCase: return camelCased(name)
        case .custom(let convert): return convert((place?.path ?? []) + [PlaceKey(stringValue: name)]).stringValue
        default: return name
        }
    }

    private func camelCased(_ name: String) -> String {
        guard name.utf8.contains(UInt8(ascii: "_")) else { return name }
        if let known = convertedNames[ExactText(name)] { return known }
        let converted = SnakeCase.camelCased(name)
        convertedNames[ExactText(name)] = converted
        return converted
    }
}

/// An error for a number that the type cannot hold. It is no `DecodingError`, because that of `JSONDecoder` is none
/// where a type catches it.
struct Unrepresentable: Error {}

/// A decoder with the semantics of `JSONDecoder` that reads a tape. One decoder reads all values of a text: `element`
/// is the value whose type is being created.
final class TapeDecoder: Decoder {
    let text: TapedText
    private(set) var element: JSONElement
    private(set) var place: CodingPlace?

    init(_ text: TapedText, at element: JSONElement, place: CodingPlace? = nil) {
        self.text = text
        self.element = element
        self.place = place
    }

    var codingPath: [any CodingKey] { place?.path ?? [] }
    var userInfo: [CodingUserInfoKey: Any] { text.settings.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(KeyedMembers(members: try members(of: element, at: place)))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try elements(of: element, at: place) }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func members(of element: JSONElement, at place: CodingPlace?) throws -> Members {
        guard element.kind == .object else { throw mismatch([String: Any].self, found: element, at: place) }
        return try Members(of: element, decoder: self, place: place)
    }

    func elements(of element: JSONElement, at place: CodingPlace?) throws -> UnkeyedElements {
        guard element.kind == .array else { throw mismatch([Any].self, found: element, at: place) }
        return UnkeyedElements(of: element, decoder: self, place: place)
    }

    /// Calls `body` while `element` is the value to decode.
    func reading<Value>(
        _ element: JSONElement, at place: CodingPlace?, body: (TapeDecoder) throws -> Value
    ) rethrows -> Value {
        let outer = (self.element, self.place)
        self.element = element
        self.place = place
        defer { (self.element, self.place) = outer }
        return try body(self)
    }

    /// The error for a value of another type: a missing value for null.
    func mismatch(_ type: Any.Type, found element: JSONElement, at place: CodingPlace?) -> DecodingError {
        let context = DecodingError.Context(
            codingPath: place?.path ?? [], debugDescription: "Expected to decode \(type), but found \(element.kind).")
        return element.kind == .null ? .valueNotFound(type, context) : .typeMismatch(type, context)
    }
}

extension TapeDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool { element.kind == .null }
    func decode(_: Bool.Type) throws -> Bool { try bool(element, at: place) }
    func decode(_: String.Type) throws -> String { try string(element, at: place) }
    func decode(_: Double.Type) throws -> Double { try double(element, at: place) }
    func decode(_: Float.Type) throws -> Float { try float(element, at: place) }
    func decode(_: Int.Type) throws -> Int { try integer(element, at: place) }
    func decode(_: Int8.Type) throws -> Int8 { try integer(element, at: place) }
    func decode(_: Int16.Type) throws -> Int16 { try integer(element, at: place) }
    func decode(_: Int32.Type) throws -> Int32 { try integer(element, at: place) }
    func decode(_: Int64.Type) throws -> Int64 { try integer(element, at: place) }
    func decode(_: Int128.Type) throws -> Int128 { try integer(element, at: place) }
    func decode(_: UInt.Type) throws -> UInt { try integer(element, at: place) }
    func decode(_: UInt8.Type) throws -> UInt8 { try integer(element, at: place) }
    func decode(_: UInt16.Type) throws -> UInt16 { try integer(element, at: place) }
    func decode(_: UInt32.Type) throws -> UInt32 { try integer(element, at: place) }
    func decode(_: UInt64.Type) throws -> UInt64 { try integer(element, at: place) }
    func decode(_: UInt128.Type) throws -> UInt128 { try integer(element, at: place) }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try value(type, of: element, at: place) }
}
