public import Foundation

/// What makes values of bodies: JSON, property lists, or a format of your own.
public protocol ResponseDecoder: Sendable {
    /// - Parameters:
    ///   - type: what it is to become.
    ///   - data: the body as it came; in UTF-8 where its `Content-Type` is one of JSON and names another charset.
    /// - Throws: whatever says best what is wrong; a `DecodingError` is told with its coding path.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension ResponseDecoder {
    /// A body that is empty, or a single space, is `nil` where a value may be that.
    func value<Value: Decodable>(of type: Value.Type, in response: Response) throws -> Value {
        if let absence = response.absence(of: type) { return absence }
        return try decode(type, from: response.body(for: self))
    }
}

extension Response {
    /// What stands for a body that is empty, or a single space, in a type that may be `nil`.
    func absence<Value>(of type: Value.Type) -> Value? {
        guard body.isBlank, let type = type as? any ExpressibleByNilLiteral.Type else { return nil }
        return type.init(nilLiteral: ()) as? Value
    }
}

extension Response {
    /// The body as a JSON value, read by the charset that `Content-Type` names; `nil` for a body that is empty or a single
    /// space. For this package's other targets.
    ///
    /// - Throws: an error whose description says what is wrong, with line and column.
    package func json() throws -> JSONValue? { body.isBlank ? nil : try JSONValue(reading: bodyInUTF8) }
}

extension Data {
    /// Whether it is nothing: as with AFNetworking, a single space is, which Rails once answered where it had no body.
    var isBlank: Bool { isEmpty || elementsEqual([0x20]) }
}

extension JSONDecoder: ResponseDecoder {}
extension PropertyListDecoder: ResponseDecoder {}

extension DecodingError {
    /// What is wrong and where, in one line: `items[2].name: is no String`. Not in the decoder's words, which may quote the
    /// body.
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
