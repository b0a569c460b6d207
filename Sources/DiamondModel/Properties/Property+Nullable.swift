import Diamond

extension Property {
    /// Declares a property that can be `nil`, written as `null` in JSON.
    ///
    /// - Parameters:
    ///   - keyPath: The property.
    ///   - key: The key to write, and to read first.
    ///   - alternatives: The keys to read if `key` has no value.
    ///   - access: The access to the property.
    ///   - rules: The conditions for its values.
    ///   - policy: The handling of values that break a rule.
    public convenience init<Wrapped: ModelValue & Sendable>(
        nullable keyPath: any KeyPath<Owner, Value> & Sendable, _ key: PropertyKey, or alternatives: PropertyKey...,
        access: Access = .user, rules: [Rule<Value>] = [], policy: RulePolicy = .keep
    ) where Value == Wrapped? {
        self.init(
            keyPath, keys: [key] + alternatives, access: access, codec: .nullable(.own), rules: rules, policy: policy,
            form: .values)
    }

    /// Declares a property that can be `nil`, written as `null` in JSON, with a codec for other values.
    ///
    /// - Parameters:
    ///   - keyPath: The property.
    ///   - key: The key to write, and to read first.
    ///   - alternatives: The keys to read if `key` has no value.
    ///   - codec: The conversion of values other than `nil`.
    ///   - access: The access to the property.
    ///   - rules: The conditions for its values.
    ///   - policy: The handling of values that break a rule.
    public convenience init<Wrapped: Equatable & Sendable>(
        nullable keyPath: any KeyPath<Owner, Value> & Sendable, _ key: PropertyKey, or alternatives: PropertyKey...,
        codec: Codec<Wrapped>, access: Access = .user, rules: [Rule<Value>] = [], policy: RulePolicy = .keep
    ) where Value == Wrapped? {
        self.init(
            keyPath, keys: [key] + alternatives, access: access, codec: .nullable(codec), rules: rules, policy: policy,
            form: .values)
    }
}

extension Property {
    /// Declares a property with a nested model that can be `nil`, written as `null` in JSON. The class may be the
    /// owner's own.
    ///
    /// - Parameters:
    ///   - keyPath: The property.
    ///   - key: The key to write, and to read first.
    ///   - alternatives: The keys to read if `key` has no value.
    ///   - access: The access to the property.
    public convenience init<Wrapped: Model>(
        nullable keyPath: any KeyPath<Owner, Value> & Sendable, _ key: PropertyKey, or alternatives: PropertyKey...,
        access: Access = .user
    ) where Value == Wrapped? {
        let form = Form(
            areSame: { $0 === $1 },
            areEqual: { left, right in
                guard let left, let right else { return left == nil && right == nil }
                return left.isEqual(to: right)
            },
            duplicate: { $0?.copy() }, model: { $0 }, modelType: Wrapped.self)
        self.init(
            keyPath, keys: [key] + alternatives, access: access, codec: .nullable(.nested), rules: [], policy: .keep,
            form: form)
    }
}

extension Codec {
    /// Returns a codec for values that can be `nil`, written as `null` in JSON.
    static func nullable<Wrapped>(_ codec: Codec<Wrapped>) -> Codec where Value == Wrapped? {
        Codec(
            decode: { json, repairs in
                if json == .null { return .some(nil) }
                return codec.decode(json, &repairs).map { .some($0) }
            },
            encode: { $0.map(codec.encode) ?? .null }, readText: codec.readText.map(nullable), isOwn: false,
            decodeItem: { item, repairs in
                if item.isNull { return .some(nil) }
                return codec.decodeItem(item, &repairs).map { .some($0) }
            },
            write: { value, visitor in
                if let value { codec.write(value, visitor) } else { visitor.output.writeNull() }
            })
    }

    /// Returns the reading of values that can be `nil`.
    private static func nullable<Wrapped>(
        _ readText: @escaping @Sendable (TextElement) -> Wrapped?
    ) -> @Sendable (TextElement) -> Value? where Value == Wrapped? {
        { text in
            if text.isNull { return .some(nil) }
            return readText(text).map { .some($0) }
        }
    }
}
