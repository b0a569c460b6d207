import Diamond

/// A type-erased property of a model class.
///
/// `@unchecked Sendable`, because it is immutable.
public class AnyProperty: @unchecked Sendable {
    /// The access to a property: whether the app may set it, and whether it is in the JSON.
    public enum Access: Sendable {
        /// A property in the JSON that the app may set.
        case user
        /// A property in the JSON that only merges set.
        case server
        /// A tracked property that is not in the JSON.
        case transient
    }

    /// The key to write, followed by alternative keys to read.
    package let keys: [PropertyKey]
    public let access: Access
    /// The handling of values that break a rule.
    package let policy: RulePolicy
    /// The key path of the property, for comparisons.
    let anyKeyPath: AnyKeyPath
    /// The text of the key to write.
    public let key: String

    /// The member's name if the property has a single key with one name. This usual case is read without a loop.
    @usableFromInline let onlyName: String?
    /// The UTF-8 of the name of the member to read first in a text; `nil` if the property has a path, or is not in the
    /// JSON.
    let memberName: UnsafeRawBufferPointer?
    /// The names of the members to write; empty unless each key is one name that no other one looks like.
    let writtenNames: [JSONName]
    /// Whether the property has no models, and keeps values that break its rules.
    @usableFromInline let isPlain: Bool
    /// Whether a change needs no checks: the property is plain, and not the id.
    @usableFromInline let isQuiet: Bool
    let isNested: Bool
    /// Whether the values are or contain ids of other objects.
    let isReference: Bool

    @usableFromInline
    init(
        keys: [PropertyKey], access: Access, policy: RulePolicy, keyPath: AnyKeyPath, hasRules: Bool, isNested: Bool,
        isReference: Bool, idKey: String
    ) {
        self.keys = keys
        self.access = access
        self.policy = policy
        self.isNested = isNested
        self.isReference = isReference
        anyKeyPath = keyPath
        key = keys[0].text
        let isUsual = keys.count == 1 && keys[0].names.count == 1 && !keys[0].mayLookLikeOthers
        onlyName = isUsual && access != .transient ? keys[0].names[0] : nil
        let isDirect = access != .transient && keys.allSatisfy { $0.names.count == 1 }
        memberName = isDirect ? .copy(of: keys[0].names[0]) : nil
        writtenNames = isDirect && !keys.contains(where: \.mayLookLikeOthers) ? keys.map { JSONName($0.names[0]) } : []
        isPlain = !(hasRules && policy == .reject) && !isNested
        isQuiet = isPlain && key != idKey
    }

    deinit { memberName?.deallocate() }

    /// Returns the first key with a value other than `null`, or else the first key that exists.
    func keyFound(in object: [String: JSONValue]) -> PropertyKey? {
        var null: PropertyKey?
        for key in keys {
            guard let value = key.value(in: object) else { continue }
            if value != .null { return key }
            null = null ?? key
        }
        return null
    }

    /// Returns the violation of a rule, with its reason.
    func violation(of rule: String) -> Violation {
        switch rule {
        case "unique": Violation(key: key, rule: rule, reason: "is the id of another object")
        case "id": Violation(key: key, rule: rule, reason: "cannot be removed")
        default: Violation(key: key, rule: rule, reason: reason(ofRule: rule))
        }
    }

    /// Returns the value of the first key that has one other than `null`, or else of the first key that exists.
    func item(in object: ObjectMembers) -> JSONItem? {
        var null: JSONItem?
        for key in keys {
            guard let item = key.item(in: object) else { continue }
            if !item.isNull { return item }
            null = null ?? item
        }
        return null
    }

    // MARK: Values without their type

    func decode(_ json: JSONValue, repairs: inout RepairLog) -> Any? { nil }
    func encode(_ value: Any) -> JSONValue { .null }
    func areEqual(_ left: Any, _ right: Any) -> Bool { false }
    func areSame(_ left: Any, _ right: Any) -> Bool { false }
    func duplicate(_ value: Any) -> Any { value }
    func brokenRules(of value: Any) -> [String] { [] }
    /// Returns the reason of a rule with a name; `nil` if it has none.
    func reason(ofRule name: String) -> String? { nil }
    var isRequired: Bool { false }
    func nestedModel(in value: Any) -> Model? { nil }
    /// The declared class of a nested model; `nil` for another property.
    var nestedModelType: Model.Type? { nil }
    func nestedCollection(in value: Any) -> CollectionCore? { nil }
    func access(on model: Model) {}
    func didSet(on model: Model) {}
    func original(_ value: Any) -> AnyOriginal? { nil }
}

extension UnsafeRawBufferPointer {
    /// Returns the UTF-8 of a text, in new memory.
    fileprivate static func copy(of text: String) -> UnsafeRawBufferPointer {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count, alignment: 1)
        bytes.copyBytes(from: text.utf8)
        return UnsafeRawBufferPointer(bytes)
    }
}

/// The value of a dirty property as of the last sync, type-erased.
@usableFromInline
class AnyOriginal {
    @usableFromInline
    init() {}

    var anyValue: Any { () }
}

@usableFromInline
final class Original<Value>: AnyOriginal {
    @usableFromInline let value: Value

    @usableFromInline
    init(_ value: Value) {
        self.value = value
        super.init()
    }

    override var anyValue: Any { value }
}
