/// Sets of bytes in one lookup table, because every byte of every URL is looked up.
struct ByteClass: OptionSet {
    let rawValue: UInt8

    /// The unreserved characters, ALPHA / DIGIT / "-" / "." / "_" / "~": the only ones whose percent-encoding is
    /// equivalent.
    static let unreserved = ByteClass(rawValue: 1)
    /// The gen-delims and sub-delims, which have a meaning if they are not encoded, without "?" and "#", which end a
    /// component.
    private static let delimiter = ByteClass(rawValue: 2)
    private static let question = ByteClass(rawValue: 4)
    private static let hash = ByteClass(rawValue: 8)
    /// The lower-case letters, the digits, "-", "." and "_".
    static let lowerName = ByteClass(rawValue: 16)
    /// The "&" between items, the "%" of an escape, and brackets, which are not allowed in a query but common.
    static let special = ByteClass(rawValue: 32)

    static let reserved: ByteClass = [delimiter, question, hash]
    /// The bytes that are not escaped.
    static let plain: ByteClass = [unreserved, delimiter, question, hash]
    /// The bytes that are not escaped in a path, which "?" and "#" end.
    static let plainInPath: ByteClass = [unreserved, delimiter]
    /// The bytes that are not escaped in a query, which "#" ends.
    static let plainInQuery: ByteClass = [unreserved, delimiter, question]

    /// Whether a byte is in one of the sets.
    @inline(__always)
    func contains(_ byte: UInt8) -> Bool { Self.table.utf8Start[Int(byte)] & rawValue != 0 }

    // The sets of each of the 256 bytes, in the low six bits of a character. A StaticString needs no initialization at
    // run time.
    private static let table: StaticString = """
        @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\
        @B@HB`bBBBBBBQQBQQQQQQQQQQBB@B@D\
        BAAAAAAAAAAAAAAAAAAAAAAAAAAb@b@Q\
        @QQQQQQQQQQQQQQQQQQQQQQQQQQ@@@A@\
        @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\
        @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\
        @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\
        @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
        """
}

/// Percent-encoding and its normal form (RFC 3986 sections 2.1 to 2.4 and 6.2.2).
package enum PercentEncoding {
    static let percent = UInt8(ascii: "%")

    package static func isUnreserved(_ byte: UInt8) -> Bool { ByteClass.unreserved.contains(byte) }

    package static func isReserved(_ byte: UInt8) -> Bool { ByteClass.reserved.contains(byte) }

    /// Returns the bytes with all but the unreserved ones encoded.
    package static func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var encoded: [UInt8] = []
        for byte in bytes { append(byte, bare: isUnreserved(byte), to: &encoded) }
        return encoded
    }

    /// Returns the bytes with every escape decoded. A `%` that starts no escape stays.
    static func decode(_ bytes: [UInt8]) -> [UInt8] {
        guard bytes.contains(percent) else { return bytes }
        var decoded: [UInt8] = []
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            let digits = rest.prefix(2).compactMap(Hex.value)
            let isEscape = byte == percent && digits.count == 2
            decoded.append(isEscape ? digits[0] << 4 | digits[1] : byte)
            if isEscape { rest = rest.dropFirst(2) }
        }
        return decoded
    }

    /// Returns the bytes with their escapes in normal form, with digits in upper case.
    ///
    /// - Parameters:
    ///   - bytes: bytes in which two digits follow every `%`.
    ///   - decoding: whether escapes of unreserved bytes are decoded (section 6.2.2.2).
    static func normal(_ bytes: some Collection<UInt8>, decoding: Bool = true) -> [UInt8] {
        var normal: [UInt8] = []
        normal.reserveCapacity(bytes.count)
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            let digits = byte == percent ? rest.prefix(2).compactMap(Hex.value) : []
            guard digits.count == 2 else {
                normal.append(byte)
                continue
            }
            rest = rest.dropFirst(2)
            let escaped = digits[0] << 4 | digits[1]
            append(escaped, bare: decoding && isUnreserved(escaped), to: &normal)
        }
        return normal
    }

    /// Returns a server's reference with its illegal bytes escaped, without its fragment.
    ///
    /// - Parameter reference: the path and query, or a part of them.
    static func escapingIllegal(_ reference: some Collection<UInt8>) -> [UInt8] {
        var escaped: [UInt8] = []
        var rest = reference.prefix { $0 != UInt8(ascii: "#") }
        while let byte = rest.popFirst() {
            let isEscape = byte == percent && rest.count >= 2 && rest.prefix(2).allSatisfy { Hex.value(of: $0) != nil }
            append(byte, bare: isEscape || ByteClass.plainInQuery.contains(byte), to: &escaped)
        }
        return escaped
    }

    package static func append(_ byte: UInt8, bare: Bool, to bytes: inout [UInt8]) {
        if bare { return bytes.append(byte) }
        bytes.append(atMost: 3) { $0.write(escaping: byte) }
    }

    fileprivate static func upperDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}

extension ByteWriter {
    /// Writes the text with all but the unreserved bytes encoded, at most three bytes for each.
    @inline(__always)
    mutating func write(encoding text: Span<UInt8>) {
        write(atMost: 3 * text.count) { place in
            var place = place
            for index in text.indices {
                let byte = text[index]
                place = PercentEncoding.isUnreserved(byte) ? place.adding(byte) : place.adding(escaped: byte)
            }
            return place
        }
    }

    fileprivate mutating func write(escaping byte: UInt8) { write(atMost: 3) { $0.adding(escaped: byte) } }
}

extension UnsafeMutablePointer<UInt8> {
    @inline(__always)
    fileprivate func adding(escaped byte: UInt8) -> Self {
        adding(PercentEncoding.percent)
            .adding(PercentEncoding.upperDigit(byte >> 4)).adding(PercentEncoding.upperDigit(byte & 15))
    }
}

extension Span<UInt8> {
    /// Returns the end of the run of bytes of a class that begins at `start`.
    @inline(__always)
    func end(of byteClass: ByteClass, from start: Int) -> Int {
        let rest = extracting(start...)
        for index in rest.indices where !byteClass.contains(rest[index]) { return start + index }
        return count
    }
}
