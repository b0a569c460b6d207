// Properties of enums and other values with raw values, which need no conformance to ModelValue. The compiler prefers
// the other overloads for a type that has it.

extension Property where Value: RawRepresentable & Equatable & Sendable, Value.RawValue: ModelValue {
    /// Declares a property whose values are written as their raw values.
    ///
    /// `key` is written, and read first. The alternatives are read if it has no value. `policy` is the handling of
    /// values that break a rule.
    @_disfavoredOverload
    public convenience init(
        _ keyPath: any KeyPath<Owner, Value> & Sendable, _ key: PropertyKey, or alternatives: PropertyKey...,
        access: Access = .user, rules: [Rule<Value>] = [], policy: RulePolicy = .keep
    ) {
        self.init(
            keyPath, keys: [key] + alternatives, access: access, codec: .raw, rules: rules, policy: policy,
            form: .values)
    }
}

extension Property {
    /// Declares a property of an array whose elements are written as their raw values.
    @_disfavoredOverload
    public convenience init<Element: RawRepresentable & Equatable & Sendable>(
        _ keyPath: any KeyPath<Owner, Value> & Sendable, _ key: PropertyKey, or alternatives: PropertyKey...,
        access: Access = .user, rules: [Rule<Value>] = [], policy: RulePolicy = .keep
    ) where Value == [Element], Element.RawValue: ModelValue {
        self.init(
            keyPath, keys: [key] + alternatives, access: access, codec: .elements(.raw), rules: rules, policy: policy,
            form: .values)
    }

    /// Declares a property of a dictionary whose values are written as their raw values.
    @_disfavoredOverload
    public convenience init<Element: RawRepresentable & Equatable & Sendable>(
        _ keyPath: any KeyPath<Owner, Value> & Sendable, _ key: PropertyKey, or alternatives: PropertyKey...,
        access: Access = .user, rules: [Rule<Value>] = [], policy: RulePolicy = .keep
    ) where Value == [String: Element], Element.RawValue: ModelValue {
        self.init(
            keyPath, keys: [key] + alternatives, access: access, codec: .members(.raw), rules: rules, policy: policy,
            form: .values)
    }

    /// Declares a property that can be `nil`, whose other values are written as their raw values.
    @_disfavoredOverload
    public convenience init<Wrapped: RawRepresentable & Equatable & Sendable>(
        nullable keyPath: any KeyPath<Owner, Value> & Sendable, _ key: PropertyKey, or alternatives: PropertyKey...,
        access: Access = .user, rules: [Rule<Value>] = [], policy: RulePolicy = .keep
    ) where Value == Wrapped?, Wrapped.RawValue: ModelValue {
        self.init(
            keyPath, keys: [key] + alternatives, access: access, codec: .nullable(.raw), rules: rules, policy: policy,
            form: .values)
    }

    /// Declares a property that can be `nil`, or else is an array whose elements are written as their raw values.
    @_disfavoredOverload
    public convenience init<Element: RawRepresentable & Equatable & Sendable>(
        nullable keyPath: any KeyPath<Owner, Value> & Sendable, _ key: PropertyKey, or alternatives: PropertyKey...,
        access: Access = .user, rules: [Rule<Value>] = [], policy: RulePolicy = .keep
    ) where Value == [Element]?, Element.RawValue: ModelValue {
        self.init(
            keyPath, keys: [key] + alternatives, access: access, codec: .nullable(.elements(.raw)), rules: rules,
            policy: policy, form: .values)
    }
}

extension Codec where Value: RawRepresentable & SendableMetatype, Value.RawValue: ModelValue {
    /// A value as its raw value. A text that is only equivalent to a raw value, with other bytes, does not count.
    static var raw: Codec {
        let readRaw = TextElement.reader(of: Value.RawValue.self)
        let write = PropertyVisitor.writer(of: Value.RawValue.self)
        return Codec(
            logging: { json, repairs in
                guard let raw = Value.RawValue(json: json, repairs: &repairs) else { return nil }
                if let value = Value(rawValue: raw), isExact(value.rawValue, raw) { return value }
                repairs.refuse(because: "is none of the known values")
                return nil
            },
            encode: { $0.rawValue.json },
            reading: { text in
                guard let raw = readRaw?(text), let value = Value(rawValue: raw), isExact(value.rawValue, raw) else {
                    return nil
                }
                return value
            },
            writing: { value, visitor in
                if let write { write(value.rawValue, visitor) } else { visitor.output.write(value.rawValue.json) }
            })
    }

    /// Returns whether texts that are equal have equal bytes. A type may normalize its text, for example to lowercase.
    private static func isExact(_ own: Value.RawValue, _ raw: Value.RawValue) -> Bool {
        guard let own = own as? String, let raw = raw as? String, own == raw else { return true }
        return own.isExactly(raw)
    }
}

extension Codec {
    /// Returns a codec for arrays.
    static func elements<Element>(_ codec: Codec<Element>) -> Codec where Value == [Element] {
        Codec(
            logging: { json, repairs in repairs.elements(in: json, read: codec.decode) },
            encode: { .array($0.map(codec.encode)) }, reading: { $0.elements(by: codec) },
            writing: { $1.write($0, writing: codec.write) })
    }

    /// Returns a codec for string dictionaries.
    static func members<Element>(_ codec: Codec<Element>) -> Codec where Value == [String: Element] {
        Codec(
            logging: { json, repairs in repairs.members(in: json, read: codec.decode) },
            encode: { .object($0.mapValues(codec.encode)) }, writing: { $1.write($0, writing: codec.write) })
    }
}
