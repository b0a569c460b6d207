/// An unkeyed container over the elements of an array.
struct EncodedElements: UnkeyedEncodingContainer {
    let array: EncodedArray
    let encoder: ValueEncoder
    let outer: CodingPlace?

    init(array: EncodedArray, encoder: ValueEncoder, place: CodingPlace?) {
        self.array = array
        self.encoder = encoder
        outer = place
    }

    var codingPath: [any CodingKey] { outer?.path ?? [] }
    var count: Int { array.values.count }
    /// The place of the next container.
    private var place: CodingPlace { CodingPlace(index: count, in: outer) }
    /// The place of the next value. As in `JSONEncoder`, it lacks the keys of nested containers.
    private var valuePlace: CodingPlace { CodingPlace(index: count, in: encoder.place) }

    @inline(__always)
    private func put(_ value: JSONValue) { array.values.append(value) }

    @inline(__always)
    private func put(_ integer: some FixedWidthInteger) { put(encoder.integer(integer)) }

    func encodeNil() { put(.null) }
    func encode(_ value: Bool) { put(.bool(value)) }
    func encode(_ value: String) { put(.string(value)) }
    func encode(_ value: Double) throws { put(try encoder.number(value)) }
    func encode(_ value: Float) throws { put(try encoder.number(value)) }
    func encode(_ value: Int) { put(value) }
    func encode(_ value: Int8) { put(value) }
    func encode(_ value: Int16) { put(value) }
    func encode(_ value: Int32) { put(value) }
    func encode(_ value: Int64) { put(value) }
    func encode(_ value: Int128) { put(value) }
    func encode(_ value: UInt) { put(value) }
    func encode(_ value: UInt8) { put(value) }
    func encode(_ value: UInt16) { put(value) }
    func encode(_ value: UInt32) { put(value) }
    func encode(_ value: UInt64) { put(value) }
    func encode(_ value: UInt128) { put(value) }
    func encode<T: Encodable>(_ value: T) throws { put(try encoder.value(of: value, at: valuePlace)) }

    func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        let members = EncodedMembers<Key>(object: encoder.newObject(keyedBy: type), encoder: encoder, place: place)
        array.append(.object(members.object))
        return KeyedEncodingContainer(members)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        let elements = EncodedElements(array: EncodedArray(), encoder: encoder, place: place)
        array.append(.array(elements.array))
        return elements
    }

    func superEncoder() -> any Encoder { encoder.unused() }
}
