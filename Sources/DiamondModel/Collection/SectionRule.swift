/// The division of a collection into sections.
public struct SectionRule<Object: Model> {
    /// Returns the key of a model's section.
    public var key: (Object) -> String
    /// Returns whether the section with one key sorts before the section with another.
    public var precedes: (String, String) -> Bool = { $0 < $1 }
    /// Returns the title of a section.
    public var title: (String) -> String = { $0 }
    /// Returns the title of a section in a section index.
    public var indexTitle: (String) -> String = { $0 }
    /// The keys of sections that exist even if they never had rows.
    public var permanentKeys: [String] = []
    /// Whether a section stays when its last row is removed.
    public var keepsEmptySections = false

    /// Creates a rule with a section for each key.
    public init(key: @escaping (Object) -> String) { self.key = key }

    /// Returns a rule with a section for each value of a property.
    @inlinable @inline(__always)
    public static func by(_ keyPath: KeyPath<Object, String>) -> SectionRule {
        SectionRule { $0[keyPath: keyPath] }
    }

    /// Returns a rule by the initials of a text: the kana rows あかさたな…, then A to Z, then `#`.
    public static func initials(of keyPath: KeyPath<Object, String>) -> SectionRule {
        var rule = SectionRule { Initials.key(of: $0[keyPath: keyPath]) }
        rule.precedes = Initials.precedes
        return rule
    }

    /// The type-erased rule.
    var erased: SectionRule<Model> {
        var erased = SectionRule<Model> { [key] in key(unsafeDowncast($0, to: Object.self)) }
        erased.precedes = precedes
        erased.permanentKeys = permanentKeys
        erased.keepsEmptySections = keepsEmptySections
        return erased
    }
}
