public import Diamond

/// The members of a JSON object, read by their names. A member of a text becomes a value when it is read.
///
/// `@unchecked Sendable`, because an element points to what its text keeps.
public struct ObjectMembers: @unchecked Sendable {
    private enum Storage {
        case values([String: JSONValue])
        case text(JSONElement, ScannedText)
    }

    private let storage: Storage

    /// Creates the members of an object that was read before.
    public init(_ object: [String: JSONValue]) { storage = .values(object) }

    /// Creates the members of an object; `nil` for other JSON.
    init?(_ item: JSONItem) {
        switch item {
        case .value(.object(let object)): storage = .values(object)
        case .element(let element, let text) where element.kind == .object: storage = .text(element, text)
        default: return nil
        }
    }

    /// The value of the member with a name; `nil` if there is none. Names are compared byte by byte.
    public subscript(name: String) -> JSONValue? { item(named: name)?.value }

    /// All members. Those of a text are read at every call: to read a few, use their names.
    public var object: [String: JSONValue] {
        switch storage {
        case .values(let object): object
        case .text(let element, let text): withExtendedLifetime(text) { (try? element.value().modelObject()) ?? [:] }
        }
    }

    /// Returns the members of the object in a member; `nil` for a member of another kind, and if there is none.
    ///
    /// - Throws: A ``ModelError`` with the code `malformed` for an object that two readers could read differently.
    public func object(at name: String) throws -> ObjectMembers? {
        guard let item = item(named: name) else { return nil }
        if let fault = item.fault { throw ModelError(.malformed, "the JSON object cannot be read: \(fault)") }
        return ObjectMembers(item)
    }

    func item(named name: String) -> JSONItem? {
        switch storage {
        case .values(let object): object.value(named: name).map(JSONItem.value)
        case .text(let element, let text):
            withExtendedLifetime(text) { element.member(named: name).map { .element($0, text) } }
        }
    }

    /// Returns the id at a name; `nil` if there is no usable one.
    func id(at name: String) -> ModelID? {
        switch item(named: name) {
        case .value(let json): ModelID(json: json)
        case .element(let element, let text):
            withExtendedLifetime(text) {
                element.isShortInteger ? ModelID(int64: element.shortInteger) : ModelID(json: element.value())
            }
        case nil: nil
        }
    }

    /// The values, if the members are no text.
    var values: [String: JSONValue]? { if case .values(let object) = storage { object } else { nil } }

    /// The object in a scanned text.
    var element: JSONElement? { if case .text(let element, _) = storage { element } else { nil } }

    /// Keeps the object's text; returns `nil` if its members are values.
    func keptText(by texts: inout TextKeeper) -> KeptText? {
        guard case .text(let element, let text) = storage else { return nil }
        return withExtendedLifetime(text) { texts.keep(element.text) }
    }

    /// Returns whether the object has a text with the bytes of another one.
    func isText(_ kept: KeptText) -> Bool {
        guard case .text(let element, let text) = storage else { return false }
        return withExtendedLifetime(text) { kept.hasSameBytes(as: element.text) }
    }
}
