/// A short digest of texts (FNV-1a, 64 bits), the same on every machine.
enum RunDigest {
    static func text(of bytes: some Sequence<UInt8>) -> String {
        let hash = bytes.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
