import Foundation

/// The settings of a `JSONDecoder`.
struct DecodingSettings {
    let dates: JSONDecoder.DateDecodingStrategy
    let data: JSONDecoder.DataDecodingStrategy
    let floats: JSONDecoder.NonConformingFloatDecodingStrategy
    let keys: JSONDecoder.KeyDecodingStrategy
    let userInfo: [CodingUserInfoKey: Any]
    let convertsKeys: Bool

    /// Returns `nil` for a decoder that only Foundation can be: a subclass, or one that reads more than JSON.
    init?(of decoder: JSONDecoder) {
        guard type(of: decoder) == JSONDecoder.self, !decoder.allowsJSON5, !decoder.assumesTopLevelDictionary else {
            return nil
        }
        dates = decoder.dateDecodingStrategy
        data = decoder.dataDecodingStrategy
        floats = decoder.nonConformingFloatDecodingStrategy
        keys = decoder.keyDecodingStrategy
        userInfo = decoder.userInfo
        if case .useDefaultKeys = keys { convertsKeys = false } else { convertsKeys = true }
    }
}

extension JSONDecoder {
    /// Returns the value that ``decode(_:from:)`` returns, read from a tape; `nil` if only that function can decide: for
    /// a subclass, JSON5, a text that is not UTF-8, numbers that are rounded, and every error, so that errors are always
    /// those of Foundation.
    ///
    /// The initializers of the types may have run when it returns `nil`.
    func tapedValue<Value: Decodable>(of type: Value.Type, from data: Data) -> Value? {
        guard let settings = DecodingSettings(of: self), let text = try? TapedText(data, settings: settings) else {
            return nil
        }
        let root = text.root
        let value = try? TapeDecoder(text, at: root).value(type, of: root, at: nil)
        return text.isUndecided ? nil : value
    }
}
