import Diamond

/// A type whose values contain texts that are compared byte by byte.
///
/// Swift compares strings by Unicode equivalence: `"\u{E9}"` may be one scalar or two. As data these differ.
protocol HasTexts {
    /// Returns whether all texts have equal bytes, for values that are equal.
    func hasEqualTexts(_ other: Self) -> Bool
}

extension String: HasTexts {
    func hasEqualTexts(_ other: String) -> Bool { isExactly(other) }
}

extension Optional: HasTexts where Wrapped: HasTexts {
    func hasEqualTexts(_ other: Wrapped?) -> Bool {
        guard case .some(let wrapped) = self, let other else { return true }
        return wrapped.hasEqualTexts(other)
    }
}

extension Array: HasTexts where Element: HasTexts {
    func hasEqualTexts(_ other: [Element]) -> Bool { zip(self, other).allSatisfy { $0.hasEqualTexts($1) } }
}

extension Set: HasTexts where Element: HasTexts {
    func hasEqualTexts(_ other: Set<Element>) -> Bool {
        allSatisfy { element in other.firstIndex(of: element).map { element.hasEqualTexts(other[$0]) } ?? false }
    }
}

extension Dictionary: HasTexts where Key: HasTexts {
    func hasEqualTexts(_ other: [Key: Value]) -> Bool {
        allSatisfy { key, value in
            guard let index = other.index(forKey: key), key.hasEqualTexts(other[index].key) else { return false }
            return ExactEquality.areTextsEqual(value, other[index].value)
        }
    }
}

enum ExactEquality {
    /// Returns the comparison of the texts in equal values of a type; `nil` for a type without texts.
    static func texts<Value: SendableMetatype>(of type: Value.Type) -> (@Sendable (Value, Value) -> Bool)? {
        guard type is any HasTexts.Type else { return nil }
        guard type == String.self else { return { areTextsEqual($0, $1) } }
        // Usual, and the cast to a protocol is slow.
        return { left, right in
            guard let left = left as? String, let right = right as? String else { return true }
            return left.isExactly(right)
        }
    }

    /// Returns whether two values are equal, and their texts have equal bytes. Objects without equality are equal if
    /// they are identical, and other values without equality never are.
    static func areEqual<Value>(_ left: Value, _ right: Value) -> Bool {
        func compare<Equal: Equatable>(_ left: Equal) -> Bool {
            (right as? Equal).map { left == $0 } ?? false
        }
        if let equatable = left as? any Equatable { return compare(equatable) && areTextsEqual(left, right) }
        return type(of: left) is AnyClass && (left as AnyObject) === (right as AnyObject)
    }

    /// Returns whether the texts in two equal values have equal bytes.
    static func areTextsEqual<Value>(_ left: Value, _ right: Value) -> Bool {
        func compare<Texts: HasTexts>(_ left: Texts) -> Bool { (right as? Texts).map(left.hasEqualTexts) ?? true }
        return (left as? any HasTexts).map { compare($0) } ?? true
    }
}
