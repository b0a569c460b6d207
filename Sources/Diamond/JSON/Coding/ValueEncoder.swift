import Foundation

/// An encoder with the semantics of `JSONEncoder` that makes a ``JSONValue``. One encoder encodes all values: `content`
/// is what the current one has encoded.
final class ValueEncoder: Encoder {
    let settings: EncodingSettings
    // Unchecked, because each access only reads or stores.
    @exclusivity(unchecked) private(set) var place: CodingPlace?
    @exclusivity(unchecked) private var content = Content.nothing
    /// Whether something was asked for that only `JSONEncoder` decides.
    private(set) var isUndecided = false
    /// The names of the last object of each type of keys.
    private var shapes: [ObjectIdentifier: EncodedObject.Shape] = [:]
    /// The names that `convertToSnakeCase` has converted.
    private var convertedNames: [ExactText: String] = [:]

    private enum Content {
        case nothing
        case value(JSONValue)
        case object(EncodedObject)
        case array(EncodedArray)
    }

    private init(settings: EncodingSettings) { self.settings = settings }

    /// Returns the value of the text that `JSONEncoder` writes; `nil` if only that encoder can decide.
    static func value(of value: some Encodable, settings: EncodingSettings) -> JSONValue? {
        let encoder = ValueEncoder(settings: settings)
        guard let value = try? encoder.valueIfAny(of: value, at: nil), !encoder.isUndecided,
            !value.isDeeper(than: JSONTape.maximumDepth)
        else { return nil }
        return value
    }

    var codingPath: [any CodingKey] { place?.path ?? [] }
    var userInfo: [CodingUserInfoKey: Any] { settings.userInfo }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        let object: EncodedObject
        if case .object(let existing) = content {
            object = existing
        } else {
            object = newObject(keyedBy: type)
            put(.object(object))
        }
        return KeyedEncodingContainer(EncodedMembers(object: object, encoder: self, place: place))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        if case .array(let existing) = content { return EncodedElements(array: existing, encoder: self, place: place) }
        let array = EncodedArray()
        put(.array(array))
        return EncodedElements(array: array, encoder: self, place: place)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    /// Sets what the current value has encoded. `JSONEncoder` ends the program if it has encoded something before.
    private func put(_ new: Content) {
        if case .nothing = content { content = new } else { isUndecided = true }
    }

    func put(_ value: JSONValue) { put(.value(value)) }

    /// Returns an encoder whose result is not used, because only `JSONEncoder` decides.
    func unused() -> any Encoder {
        isUndecided = true
        return ValueEncoder(settings: settings)
    }

    /// Returns an error for a value that has no JSON. The result of the encoding is not used, even if a type catches
    /// the error.
    func undecided(_ error: any Error = Unrepresentable()) -> any Error {
        isUndecided = true
        return error
    }

    /// Returns what `encode` encodes as the current value; `nil` for nothing.
    func encoding(at place: CodingPlace?, _ encode: (ValueEncoder) throws -> Void) throws -> JSONValue? {
        let outer = (content, self.place)
        content = .nothing
        self.place = place
        defer { (content, self.place) = outer }
        do { try encode(self) } catch { throw undecided(error) }
        switch content {
        case .nothing: return nil
        case .value(let value): return value
        case .object(let object): return finished(object)
        case .array(let array): return finished(array)
        }
    }
}

// MARK: Arrays and objects

extension ValueEncoder {
    func newObject<Key: CodingKey>(keyedBy type: Key.Type) -> EncodedObject {
        EncodedObject(keys: ObjectIdentifier(type), shape: shapes[ObjectIdentifier(type)])
    }

    private func finished(_ array: EncodedArray) -> JSONValue {
        for (index, container) in array.containers { array.values[index] = finished(container) }
        return .array(array.values)
    }

    private func finished(_ object: EncodedObject) -> JSONValue {
        for (index, container) in object.containers { object.values[index] = finished(container) }
        let shape = object.shape
        if object.repeatsContainer(in: shape) { isUndecided = true }
        if shapes[object.keys] !== shape { shapes[object.keys] = shape }
        return .object(shape.object(of: object.values))
    }

    private func finished(_ container: EncodedContainer) -> JSONValue {
        switch container {
        case .object(let object): finished(object)
        case .array(let array): finished(array)
        }
    }
}

// MARK: Names

extension ValueEncoder {
    /// Returns a member's name as the key strategy converts it.
    @inline(__always)
    func name(_ key: some CodingKey) -> String {
        settings.convertsKeys ? snakeCased(key.stringValue) : key.stringValue
    }

    private func snakeCased(_ name: String) -> String {
        if let known = convertedNames[ExactText(name)] { return known }
        let converted = SnakeCase.snakeCased(name)
        convertedNames[ExactText(name)] = converted
        return converted
    }
}

extension ValueEncoder: SingleValueEncodingContainer {
    func encodeNil() { put(.null) }
    func encode(_ value: Bool) { put(.bool(value)) }
    func encode(_ value: String) { put(.string(value)) }
    func encode(_ value: Double) throws { put(try number(value)) }
    func encode(_ value: Float) throws { put(try number(value)) }
    func encode(_ value: Int) { put(integer(value)) }
    func encode(_ value: Int8) { put(integer(value)) }
    func encode(_ value: Int16) { put(integer(value)) }
    func encode(_ value: Int32) { put(integer(value)) }
    func encode(_ value: Int64) { put(integer(value)) }
    func encode(_ value: Int128) { put(integer(value)) }
    func encode(_ value: UInt) { put(integer(value)) }
    func encode(_ value: UInt8) { put(integer(value)) }
    func encode(_ value: UInt16) { put(integer(value)) }
    func encode(_ value: UInt32) { put(integer(value)) }
    func encode(_ value: UInt64) { put(integer(value)) }
    func encode(_ value: UInt128) { put(integer(value)) }
    func encode<T: Encodable>(_ value: T) throws { put(try self.value(of: value, at: place)) }
}
