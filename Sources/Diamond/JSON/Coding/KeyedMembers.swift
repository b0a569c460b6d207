/// A keyed container over the members of an object.
struct KeyedMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: Members

    var codingPath: [any CodingKey] { members.place?.path ?? [] }
    var allKeys: [Key] { members.names().compactMap { Key(stringValue: $0) } }
    private var decoder: TapeDecoder { members.decoder }

    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

    @inline(__always)
    private func element(_ key: some CodingKey) throws -> JSONElement {
        if let element = members[key.stringValue] { return element }
        let message = "No value associated with key \(key) (\"\(key.stringValue)\")."
        throw DecodingError.keyNotFound(
            key, DecodingError.Context(codingPath: codingPath, debugDescription: message))
    }

    /// The element of a key; `nil` if it is missing or null.
    @inline(__always)
    private func present(_ key: Key) -> JSONElement? {
        guard let element = members[key.stringValue], element.kind != .null else { return nil }
        return element
    }

    private func place(_ key: some CodingKey) -> CodingPlace { CodingPlace(key, in: members.place) }

    @inline(__always)
    private func integer<T: FixedWidthInteger>(_ key: Key) throws -> T {
        try decoder.integer(element(key), at: place(key))
    }

    @inline(__always)
    private func presentInteger<T: FixedWidthInteger>(_ key: Key) throws -> T? {
        guard let element = present(key) else { return nil }
        return try decoder.integer(element, at: place(key))
    }

    func decodeNil(forKey key: Key) throws -> Bool { try element(key).kind == .null }
    func decode(_: Bool.Type, forKey key: Key) throws -> Bool { try decoder.bool(element(key), at: place(key)) }
    func decode(_: String.Type, forKey key: Key) throws -> String { try decoder.string(element(key), at: place(key)) }
    func decode(_: Double.Type, forKey key: Key) throws -> Double { try decoder.double(element(key), at: place(key)) }
    func decode(_: Float.Type, forKey key: Key) throws -> Float { try decoder.float(element(key), at: place(key)) }
    func decode(_: Int.Type, forKey key: Key) throws -> Int { try integer(key) }
    func decode(_: Int8.Type, forKey key: Key) throws -> Int8 { try integer(key) }
    func decode(_: Int16.Type, forKey key: Key) throws -> Int16 { try integer(key) }
    func decode(_: Int32.Type, forKey key: Key) throws -> Int32 { try integer(key) }
    func decode(_: Int64.Type, forKey key: Key) throws -> Int64 { try integer(key) }
    func decode(_: Int128.Type, forKey key: Key) throws -> Int128 { try integer(key) }
    func decode(_: UInt.Type, forKey key: Key) throws -> UInt { try integer(key) }
    func decode(_: UInt8.Type, forKey key: Key) throws -> UInt8 { try integer(key) }
    func decode(_: UInt16.Type, forKey key: Key) throws -> UInt16 { try integer(key) }
    func decode(_: UInt32.Type, forKey key: Key) throws -> UInt32 { try integer(key) }
    func decode(_: UInt64.Type, forKey key: Key) throws -> UInt64 { try integer(key) }
    func decode(_: UInt128.Type, forKey key: Key) throws -> UInt128 { try integer(key) }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        try decoder.value(type, of: element(key), at: place(key))
    }
}

extension KeyedMembers {
    func decodeIfPresent(_: Bool.Type, forKey key: Key) throws -> Bool? {
        try present(key).map { try decoder.bool($0, at: place(key)) }
    }

    func decodeIfPresent(_: String.Type, forKey key: Key) throws -> String? {
        try present(key).map { try decoder.string($0, at: place(key)) }
    }

    func decodeIfPresent(_: Double.Type, forKey key: Key) throws -> Double? {
        try present(key).map { try decoder.double($0, at: place(key)) }
    }

    func decodeIfPresent(_: Float.Type, forKey key: Key) throws -> Float? {
        try present(key).map { try decoder.float($0, at: place(key)) }
    }

    func decodeIfPresent(_: Int.Type, forKey key: Key) throws -> Int? { try presentInteger(key) }
    func decodeIfPresent(_: Int8.Type, forKey key: Key) throws -> Int8? { try presentInteger(key) }
    func decodeIfPresent(_: Int16.Type, forKey key: Key) throws -> Int16? { try presentInteger(key) }
    func decodeIfPresent(_: Int32.Type, forKey key: Key) throws -> Int32? { try presentInteger(key) }
    func decodeIfPresent(_: Int64.Type, forKey key: Key) throws -> Int64? { try presentInteger(key) }
    func decodeIfPresent(_: Int128.Type, forKey key: Key) throws -> Int128? { try presentInteger(key) }
    func decodeIfPresent(_: UInt.Type, forKey key: Key) throws -> UInt? { try presentInteger(key) }
    func decodeIfPresent(_: UInt8.Type, forKey key: Key) throws -> UInt8? { try presentInteger(key) }
    func decodeIfPresent(_: UInt16.Type, forKey key: Key) throws -> UInt16? { try presentInteger(key) }
    func decodeIfPresent(_: UInt32.Type, forKey key: Key) throws -> UInt32? { try presentInteger(key) }
    func decodeIfPresent(_: UInt64.Type, forKey key: Key) throws -> UInt64? { try presentInteger(key) }
    func decodeIfPresent(_: UInt128.Type, forKey key: Key) throws -> UInt128? { try presentInteger(key) }
    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        guard let element = present(key) else { return nil }
        return try decoder.value(type, of: element, at: place(key))
    }
}

extension KeyedMembers {
    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        KeyedDecodingContainer(KeyedMembers<Nested>(members: try decoder.members(of: element(key), at: place(key))))
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder.elements(of: element(key), at: place(key))
    }

    func superDecoder() throws -> any Decoder { try superDecoder(PlaceKey.superclass) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try superDecoder(key as any CodingKey) }

    private func superDecoder(_ key: any CodingKey) throws -> any Decoder {
        // A missing value is decoded as null.
        guard let element = members[key.stringValue] else { throw decoder.text.undecided() }
        return TapeDecoder(decoder.text, at: element, place: place(key))
    }
}
