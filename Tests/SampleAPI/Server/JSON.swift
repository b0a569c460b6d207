import Foundation

/// One way to write JSON, so that equal values have equal bytes and with them equal entity tags.
enum JSON {
    static func encode(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(value)
    }

    static func decode<Value: Decodable>(_ type: Value.Type, from data: Data) throws(Problem) -> Value {
        do {
            return try JSONDecoder().decode(type, from: data)
        } catch let error as DecodingError {
            throw Problem(error)
        } catch {
            throw Problem(code: 400, detail: "The body cannot be read: \(error)")
        }
    }
}

extension Problem {
    fileprivate init(_ error: DecodingError) {
        switch error {
        case .keyNotFound(let key, _): self = .invalid(key.stringValue, "is missing")
        case .typeMismatch(_, let context), .valueNotFound(_, let context): self.init(context)
        case .dataCorrupted(let context): self.init(context)
        @unknown default: self.init(code: 400, detail: "\(error)")
        }
    }

    private init(_ context: DecodingError.Context) {
        let member = context.codingPath.last?.stringValue
        self.init(code: 400, detail: context.debugDescription, parameter: member)
    }
}
