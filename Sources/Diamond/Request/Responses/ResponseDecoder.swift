public import Foundation

/// A decoder of bodies: JSON, property lists, or a format of your own.
public protocol ResponseDecoder: Sendable {
    /// Decodes a body.
    ///
    /// - Parameters:
    ///   - type: the type to decode.
    ///   - data: the body as it came. It is in UTF-8 if its `Content-Type` is one of JSON and names another charset.
    /// - Throws: the error that best describes the mistake. A `DecodingError` is reported with its coding path.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension ResponseDecoder {
    /// Returns the decoded body. A body that is empty, or a single space, is `nil` if the type allows `nil`.
    func value<Value: Decodable>(of type: Value.Type, in response: Response) throws -> Value {
        if let absence = response.absence(of: type) { return absence }
        return try decode(type, from: response.body(for: self))
    }
}

extension Response {
    /// Returns the value of a body that is empty, or a single space, for a type that may be `nil`.
    func absence<Value>(of type: Value.Type) -> Value? {
        guard body.isBlank, let type = type as? any ExpressibleByNilLiteral.Type else { return nil }
        return type.init(nilLiteral: ()) as? Value
    }
}

extension Response {
    /// Returns the body as a JSON value, read by the charset that `Content-Type` names; `nil` for a body that is empty
    /// or a single space. For this package's other targets.
    ///
    /// - Throws: an error whose description says what is wrong, with line and column.
    package func json() throws -> JSONValue? { body.isBlank ? nil : try JSONValue(reading: bodyInUTF8) }
}

extension Data {
    /// Whether the data is empty or a single space. AFNetworking treats a single space so, because Rails once answered
    /// with it in place of no body.
    var isBlank: Bool { isEmpty || elementsEqual([0x20]) }
}

extension JSONDecoder: ResponseDecoder {}
extension PropertyListDecoder: ResponseDecoder {}

extension DecodingError {
    /// The mistake and its place, in one line: `items[2].name: is no String`. The decoder's own words are left out,
    /// because they may quote the body.
    var reason: String {
        switch self {
        case .keyNotFound(let key, let context): "\(Self.place(context.codingPath + [key])): is missing"
        case .valueNotFound(let type, let context): "\(Self.place(context.codingPath)): is null, and no \(type)"
        case .typeMismatch(let type, let context): "\(Self.place(context.codingPath)): is no \(type)"
        case .dataCorrupted(let context): "\(Self.place(context.codingPath)): is not valid, see the cause"
        @unknown default: "see the cause"
        }
    }

    private static func place(_ path: [any CodingKey]) -> String {
        guard !path.isEmpty else { return "the whole body" }
        return path.enumerated().map { index, key in
            if let number = key.intValue { "[\(number)]" } else { index == 0 ? key.stringValue : ".\(key.stringValue)" }
        }.joined()
    }
}
