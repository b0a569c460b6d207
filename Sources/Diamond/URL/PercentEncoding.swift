/// Percent-encoding, and its one normal form (RFC 3986 sections 2.1 to 2.4 and 6.2.2).
enum PercentEncoding {
    static let percent = UInt8(ascii: "%")

    /// ALPHA / DIGIT / "-" / "." / "_" / "~": the only characters whose encoding changes nothing.
    static func isUnreserved(_ byte: UInt8) -> Bool { classes[Int(byte)] & 1 != 0 }

    /// Gen-delims and sub-delims: characters that mean something in a URL when they stand bare.
    static func isReserved(_ byte: UInt8) -> Bool { classes[Int(byte)] & 2 != 0 }

    /// Everything but the unreserved encoded.
    static func encode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var encoded: [UInt8] = []
        for byte in bytes { append(byte, bare: isUnreserved(byte), to: &encoded) }
        return encoded
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
        bytes.append(upperHex[Int(byte >> 4)])
        bytes.append(upperHex[Int(byte & 15)])
    }

    private static let upperHex = Array("0123456789ABCDEF".utf8)

    private static let classes: [UInt8] = (0...255).map { byte in
        let character = Character(Unicode.Scalar(UInt8(byte)))
        if "-._~".contains(character) || (character.isASCII && (character.isLetter || character.isNumber)) { return 1 }
        return ":/?#[]@!$&'()*+,;=".contains(character) ? 2 : 0
    }
}
