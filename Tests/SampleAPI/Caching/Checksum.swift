/// FNV-1a with 64 bits: not cryptographic, but it needs no library and tells two bodies apart.
/// https://datatracker.ietf.org/doc/html/draft-eastlake-fnv
struct Checksum: Sendable {
    private var value: UInt64 = 0xcbf2_9ce4_8422_2325

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        var value = value
        for byte in bytes {
            value = (value ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        self.value = value
    }

    /// Sixteen lowercase digits.
    var hex: String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
