/// A keyed container over the members of an object.
struct EncodedMembers<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let object: EncodedObject
    let encoder: ValueEncoder
    let place: CodingPlace?

    var codingPath: [any CodingKey] { place?.path ?? [] }

    @inline(__always)
    private func put(_ value: JSONValue, for key: Key) { object.append(value, named: encoder.name(key)) }

    @inline(__always)
    private func put(_ integer: some FixedWidthInteger, for key: Key) { put(encoder.integer(integer), for: key) }

    /// The place of a value. As in `JSONEncoder`, it lacks the keys of nested containers.
    private func valuePlace(_ key: Key) -> CodingPlace { CodingPlace(key, in: encoder.place) }

    func encodeNil(forKey key: Key) { put(.null, for: key) }
    func encode(_ value: Bool, forKey key: Key) { put(.bool(value), for: key) }
    func encode(_ value: String, forKey key: Key) { put(.string(value), for: key) }
    func encode(_ value: Double, forKey key: Key) throws { put(try encoder.number(value), for: key) }
    func encode(_ value: Float, forKey key: Key) throws { put(try encoder.number(value), for: key) }
    func encode(_ value: Int, forKey key: Key) { put(value, for: key) }
    func encode(_ value: Int8, forKey key: Key) { put(value, for: key) }
    func encode(_ value: Int16, forKey key: Key) { put(value, for: key) }
    func encode(_ value: Int32, forKey key: Key) { put(value, for: key) }
    func encode(_ value: Int64, forKey key: Key) { put(value, for: key) }
    func encode(_ value: Int128, forKey key: Key) { put(value, for: key) }
    func encode(_ value: UInt, forKey key: Key) { put(value, for: key) }
    func encode(_ value: UInt8, forKey key: Key) { put(value, for: key) }
    func encode(_ value: UInt16, forKey key: Key) { put(value, for: key) }
    func encode(_ value: UInt32, forKey key: Key) { put(value, for: key) }
    func encode(_ value: UInt64, forKey key: Key) { put(value, for: key) }
    func encode(_ value: UInt128, forKey key: Key) { put(value, for: key) }
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
        put(try encoder.value(of: value, at: valuePlace(key)), for: key)
    }
}

extension EncodedMembers {
    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        let nested = EncodedMembers<Nested>(
            object: encoder.newObject(keyedBy: type), encoder: encoder, place: CodingPlace(key, in: place))
        put(.object(nested.object), for: key)
        return KeyedEncodingContainer(nested)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        let nested = EncodedElements(array: EncodedArray(), encoder: encoder, place: CodingPlace(key, in: place))
        put(.array(nested.array), for: key)
        return nested
    }

    private func put(_ container: EncodedContainer, for key: Key) {
        object.append(container, named: encoder.name(key))
    }

    func superEncoder() -> any Encoder { encoder.unused() }
    func superEncoder(forKey key: Key) -> any Encoder { encoder.unused() }
}
