import Foundation

/// The settings of a `JSONEncoder` that determine values. Its output formatting does not.
struct EncodingSettings {
    let dates: JSONEncoder.DateEncodingStrategy
    let data: JSONEncoder.DataEncodingStrategy
    let floats: JSONEncoder.NonConformingFloatEncodingStrategy
    let userInfo: [CodingUserInfoKey: Any]
    /// Whether names are converted to snake case.
    let convertsKeys: Bool

    /// Returns `nil` for an encoder that only Foundation can be: a subclass, or one that converts names by a function.
    init?(of encoder: JSONEncoder) {
        guard type(of: encoder) == JSONEncoder.self else { return nil }
        switch encoder.keyEncodingStrategy {
        case .useDefaultKeys: convertsKeys = false
        case .convertToSnakeCase: convertsKeys = true
        default: return nil
        }
        dates = encoder.dateEncodingStrategy
        data = encoder.dataEncodingStrategy
        floats = encoder.nonConformingFloatEncodingStrategy
        userInfo = encoder.userInfo
    }
}

extension JSONValue {
    /// Creates the value of the text that an encoder writes.
    ///
    /// It is made without a text, unless only the encoder can decide: for a subclass, `superEncoder()`, and every error,
    /// so that errors are always those of Foundation. `encode(to:)` of the types may have run then before.
    ///
    /// - Throws: The error of the encoder, or a ``JSONError`` for a text that is not read.
    init(encoding value: some Encodable, using encoder: JSONEncoder) throws {
        if let value = EncodingSettings(of: encoder).flatMap({ ValueEncoder.value(of: value, settings: $0) }) {
            self = value
        } else {
            try self.init(reading: encoder.encode(value))
        }
    }
}
