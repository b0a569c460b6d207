/// Characters of ASCII, a bit for each: a test without a table, for every byte of every URL.
struct ASCIISet: Sendable {
    private let low: UInt64
    private let high: UInt64

    init(_ low: UInt64, _ high: UInt64) {
        self.low = low
        self.high = high
    }

    func contains(_ byte: UInt8) -> Bool {
        byte < 0x80 && (byte < 0x40 ? low : high) >> UInt64(byte & 0x3F) & 1 != 0
    }
}

/// Percent-encoding, and its one normal form (RFC 3986 sections 2.1 to 2.4 and 6.2.2).
enum PercentEncoding {
    static let percent = UInt8(ascii: "%")

    /// ALPHA / DIGIT / "-" / "." / "_" / "~": the only characters whose encoding changes nothing.
    static let unreserved = ASCIISet(0x03FF_6000_0000_0000, 0x47FF_FFFE_87FF_FFFE)

    /// Gen-delims and sub-delims: characters that mean something in a URL when they stand bare.
    static let reserved = ASCIISet(0xAC00_9FDA_0000_0000, 0x0000_0000_2800_0001)

    /// Both: what stays as it is.
    static let plain = ASCIISet(0xAFFF_FFDA_0000_0000, 0x47FF_FFFE_AFFF_FFFF)

    /// Without "?" and "#", which end a path.
    static let plainInPath = ASCIISet(0x2FFF_FFD2_0000_0000, 0x47FF_FFFE_AFFF_FFFF)

    /// Without "#", which ends a query.
    static let plainInQuery = ASCIISet(0xAFFF_FFD2_0000_0000, 0x47FF_FFFE_AFFF_FFFF)

    /// Lower-case letters, digits, "-", "." and "_".
    static let lowerName = ASCIISet(0x03FF_6000_0000_0000, 0x07FF_FFFE_8000_0000)

    static func isUnreserved(_ byte: UInt8) -> Bool { unreserved.contains(byte) }

    static func isReserved(_ byte: UInt8) -> Bool { reserved.contains(byte) }

    /// Everything but the unreserved encoded.
    static func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var encoded: [UInt8] = []
        for byte in bytes { append(byte, bare: isUnreserved(byte), to: &encoded) }
        return encoded
    }

    /// Everything but the unreserved encoded.
    static func append(encoding text: String, to encoded: inout [UInt8]) {
        var text = text
        text.withUTF8 { bytes in
            var index = 0
            while index < bytes.count {
                let start = index
                while index < bytes.count, isUnreserved(bytes[index]) { index += 1 }
                encoded.append(contentsOf: bytes[start..<index])
                guard index < bytes.count else { return }
                append(bytes[index], bare: false, to: &encoded)
                index += 1
            }
        }
    }

    /// The bytes with every escape undone; what is none stays.
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

    static func append(_ byte: UInt8, bare: Bool, to bytes: inout [UInt8]) {
        if bare { return bytes.append(byte) }
        bytes.append(percent)
        bytes.append(upperDigit(byte >> 4))
        bytes.append(upperDigit(byte & 15))
    }

    private static func upperDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
    }
}
