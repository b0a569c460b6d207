import Diamond

extension Property {
    /// Declares a property whose value may be `nil`, which is `null` in JSON.
    ///
    /// - Parameters:
    ///   - keyPath: the property.
    ///   - key: the key that is written, and read first.
    ///   - alternatives: the keys that are read when `key` has no value.
    ///   - access: the side that may set the property.
    ///   - rules: the conditions that its values have to meet.
    ///   - policy: the handling of values that break a rule.
    public convenience init<Wrapped: ModelValue & Sendable>(
        nullable keyPath: any KeyPath<Owner, Value> & Sendable, _ key: PropertyKey, or alternatives: PropertyKey...,
        access: Access = .user, rules: [Rule<Value>] = [], policy: RulePolicy = .keep
    ) where Value == Wrapped? {
        self.init(keyPath, [key] + alternatives, access, .nullable(.own), rules, policy, .values)
    }

    /// Declares a property whose value may be `nil`, which is `null` in JSON, and whose other values a codec converts.
    ///
    /// - Parameters:
    ///   - keyPath: the property.
    ///   - key: the key that is written, and read first.
    ///   - alternatives: the keys that are read when `key` has no value.
    ///   - codec: the conversion of values that are not `nil`.
    ///   - access: the side that may set the property.
    ///   - rules: the conditions that its values have to meet.
    ///   - policy: the handling of values that break a rule.
    public convenience init<Wrapped: Equatable & Sendable>(
        nullable keyPath: any KeyPath<Owner, Value> & Sendable, _ key: PropertyKey, or alternatives: PropertyKey...,
        codec: Codec<Wrapped>, access: Access = .user, rules: [Rule<Value>] = [], policy: RulePolicy = .keep
    ) where Value == Wrapped? {
        self.init(keyPath, [key] + alternatives, access, .nullable(codec), rules, policy, .values)
    }
}

extension Codec {
    /// The conversion of a value that may be `nil`, which is `null` in JSON.
    static func nullable<Wrapped>(_ codec: Codec<Wrapped>) -> Codec where Value == Wrapped? {
        Codec(
            logging: { json, repairs in
                if json == .null { return .some(nil) }
                return codec.decode(json, &repairs).map { .some($0) }
            },
            encode: { $0.map(codec.encode) ?? .null })
    }
}
