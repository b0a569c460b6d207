public import Foundation

/// A decoder for bodies: JSON, property lists, or a custom format.
public protocol ResponseDecoder: Sendable {
    /// Decodes a body.
    ///
    /// - Parameters:
    ///   - type: the type to decode.
    ///   - data: the body as received. JSON is converted to UTF-8 if `Content-Type` names another charset.
    /// - Throws: any error. A `DecodingError` is reported with its coding path.
    func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value
}

extension ResponseDecoder {
    /// Returns the decoded body. An empty body or a single space is `nil` for an optional type.
    func value<Value: Decodable>(of type: Value.Type, in response: Response) throws -> Value {
        if let absence = response.absence(of: type) { return absence }
        return try value(of: type, from: response.body(for: self))
    }

    /// Returns a decoded value. A plain `JSONDecoder` lends its settings to a faster reader.
    func value<Value: Decodable>(of type: Value.Type, from data: Data) throws -> Value {
        try (self as? JSONDecoder)?.tapedValue(of: type, from: data) ?? decode(type, from: data)
    }
}

/// The decoder of an engine, which its responses share.
final class SharedDecoder: Sendable {
    let decoder: any ResponseDecoder

    init(_ decoder: any ResponseDecoder) { self.decoder = decoder }
}

extension Response {
    /// The decoder of the response's engine; without an engine, a plain `JSONDecoder`.
    var standardDecoder: any ResponseDecoder { facts.decoder?.decoder ?? JSONDecoder() }

    /// Returns the `nil` of an optional type if the body is empty or a single space.
    func absence<Value>(of type: Value.Type) -> Value? {
        guard body.isBlank, let type = type as? any ExpressibleByNilLiteral.Type else { return nil }
        return type.init(nilLiteral: ()) as? Value
    }
}

extension Data {
    /// Whether the data is empty or a single space. Rails once sent a space instead of an empty body, and AFNetworking
    /// treats it as one.
    var isBlank: Bool { isEmpty || elementsEqual([0x20]) }
}

extension JSONDecoder: ResponseDecoder {}
extension PropertyListDecoder: ResponseDecoder {}

extension DecodingError {
    /// The mistake and its coding path, in one line: `items[2].name: is no String`. The decoder's description is left
    /// out, because it may quote the body.
    var reason: String {
        if case .dataCorrupted = self { "\(mistake), see the cause" } else { mistake }
    }

    /// The mistake and its coding path, for errors that have no cause.
    var mistake: String {
        switch self {
        case .keyNotFound(let key, let context): "\(Self.place(context.codingPath + [key])): is missing"
        case .valueNotFound(let type, let context): "\(Self.place(context.codingPath)): is null, and no \(type)"
        case .typeMismatch(let type, let context): "\(Self.place(context.codingPath)): is no \(type)"
        case .dataCorrupted(let context): "\(Self.place(context.codingPath)): is not valid"
        @unknown default: "it cannot be decoded"
        }
    }

    private static func place(_ path: [any CodingKey]) -> String {
        guard !path.isEmpty else { return "the whole body" }
        return path.enumerated().map { index, key in
            if let number = key.intValue { "[\(number)]" } else { index == 0 ? key.stringValue : ".\(key.stringValue)" }
        }.joined()
    }
}
