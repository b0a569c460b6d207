/// An unkeyed container over the elements of an array.
struct UnkeyedElements: UnkeyedDecodingContainer {
    private let decoder: TapeDecoder
    private let outer: CodingPlace?
    private var elements: JSONElements
    private var next: JSONElement?
    private let length: Int
    private(set) var currentIndex = 0

    init(of array: JSONElement, decoder: TapeDecoder, place: CodingPlace?) {
        self.decoder = decoder
        outer = place
        length = array.count
        elements = array.elements
        next = elements.next()
    }

    var codingPath: [any CodingKey] { outer?.path ?? [] }
    var count: Int? { length }
    var isAtEnd: Bool { currentIndex >= length }
    private var place: CodingPlace { CodingPlace(index: currentIndex, in: outer) }

    private mutating func advance() {
        currentIndex += 1
        next = elements.next()
    }

    private func element(for type: Any.Type) throws -> JSONElement {
        if let next { return next }
        let context = DecodingError.Context(
            codingPath: place.path, debugDescription: "Unkeyed container is at end.")
        throw DecodingError.valueNotFound(type, context)
    }

    /// Returns a value that was read, after moving to the next element.
    @inline(__always)
    private mutating func advancing<T>(_ value: T) -> T {
        advance()
        return value
    }

    @inline(__always)
    private mutating func integer<T: FixedWidthInteger>() throws -> T {
        advancing(try decoder.integer(element(for: T.self), at: place))
    }

    mutating func decodeNil() throws -> Bool {
        let isNull = try element(for: Never.self).kind == .null
        if isNull { advance() }
        return isNull
    }

    mutating func decode(_: Bool.Type) throws -> Bool {
        advancing(try decoder.bool(element(for: Bool.self), at: place))
    }
    mutating func decode(_: String.Type) throws -> String {
        advancing(try decoder.string(element(for: String.self), at: place))
    }
    mutating func decode(_: Double.Type) throws -> Double {
        advancing(try decoder.double(element(for: Double.self), at: place))
    }
    mutating func decode(_: Float.Type) throws -> Float {
        advancing(try decoder.float(element(for: Float.self), at: place))
    }
    mutating func decode(_: Int.Type) throws -> Int { try integer() }
    mutating func decode(_: Int8.Type) throws -> Int8 { try integer() }
    mutating func decode(_: Int16.Type) throws -> Int16 { try integer() }
    mutating func decode(_: Int32.Type) throws -> Int32 { try integer() }
    mutating func decode(_: Int64.Type) throws -> Int64 { try integer() }
    mutating func decode(_: Int128.Type) throws -> Int128 { try integer() }
    mutating func decode(_: UInt.Type) throws -> UInt { try integer() }
    mutating func decode(_: UInt8.Type) throws -> UInt8 { try integer() }
    mutating func decode(_: UInt16.Type) throws -> UInt16 { try integer() }
    mutating func decode(_: UInt32.Type) throws -> UInt32 { try integer() }
    mutating func decode(_: UInt64.Type) throws -> UInt64 { try integer() }
    mutating func decode(_: UInt128.Type) throws -> UInt128 { try integer() }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        advancing(try decoder.value(type, of: element(for: type), at: place))
    }

    mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        let element = try element(for: KeyedDecodingContainer<Key>.self)
        return advancing(
            KeyedDecodingContainer(KeyedMembers(members: try decoder.members(of: element, at: place))))
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        advancing(try decoder.elements(of: element(for: (any UnkeyedDecodingContainer).self), at: place))
    }

    mutating func superDecoder() throws -> any Decoder {
        advancing(TapeDecoder(decoder.text, at: try element(for: (any Decoder).self), place: place))
    }
}
