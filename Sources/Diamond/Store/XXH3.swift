/// XXH3 with 64 bits, no seed and the default secret: a checksum that finds accidental damage. It is no protection
/// against a deliberate change.
///
/// The algorithm is that of the specification of xxHash 0.8
/// (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md). CONTRIBUTING.md has the speeds of the alternatives.
package struct XXH3 {
    package static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        secret.withUnsafeBytes { XXH3(input: bytes, secret: $0).hash }
    }

    private let input: UnsafeRawBufferPointer
    private let secret: UnsafeRawBufferPointer
    private var count: UInt64 { UInt64(input.count) }

    private var hash: UInt64 {
        switch input.count {
        case 0: Self.avalanche64(key(56) ^ key(64))
        case 1...3: tiny
        case 4...8: small
        case 9...16: medium
        case 17...128: paired
        case 129...240: sequential
        default: long
        }
    }

    // MARK: Up to 240 bytes

    private var tiny: UInt64 {
        let last = UInt64(input[input.count - 1]) | count << 8
        let first = UInt64(input[0]) << 16 | UInt64(input[input.count >> 1]) << 24
        return Self.avalanche64((key(0) & 0xFFFF_FFFF ^ key(0) >> 32) ^ (last | first))
    }

    private var small: UInt64 {
        let last = input.loadUnaligned(fromByteOffset: input.count - 4, as: UInt32.self)
        let first = input.loadUnaligned(as: UInt32.self)
        var value = (key(8) ^ key(16)) ^ (UInt64(last.littleEndian) | UInt64(first.littleEndian) << 32)
        value ^= (value << 49 | value >> 15) ^ (value << 24 | value >> 40)
        value &*= 0x9FB2_1C65_1E98_DF25
        value ^= (value >> 35) &+ count
        value &*= 0x9FB2_1C65_1E98_DF25
        return value ^ value >> 28
    }

    private var medium: UInt64 {
        let low = (key(24) ^ key(32)) ^ word(0)
        let high = (key(40) ^ key(48)) ^ word(input.count - 8)
        return Self.avalanche(count &+ low.byteSwapped &+ high &+ Self.folded(low, high))
    }

    private var paired: UInt64 {
        var sum = count &* Self.prime1
        for pair in 0...(input.count - 1) / 32 {
            sum &+= mixed(pair * 16, key: pair * 32)
            sum &+= mixed(input.count - pair * 16 - 16, key: pair * 32 + 16)
        }
        return Self.avalanche(sum)
    }

    private var sequential: UInt64 {
        var sum = count &* Self.prime1
        for number in 0..<8 { sum &+= mixed(number * 16, key: number * 16) }
        sum = Self.avalanche(sum)
        for number in 8..<input.count / 16 { sum &+= mixed(number * 16, key: number * 16 - 125) }
        return Self.avalanche(sum &+ mixed(input.count - 16, key: 119))
    }

    private func mixed(_ place: Int, key keyPlace: Int) -> UInt64 {
        Self.folded(word(place) ^ key(keyPlace), word(place + 8) ^ key(keyPlace + 8))
    }

    // MARK: More than 240 bytes

    /// Two of the eight accumulators. The compiler finds the vector instructions of every processor for pairs.
    private typealias Pair = SIMD2<UInt64>

    private var long: UInt64 {
        var a = Pair(0xC2B2_AE3D, Self.prime1)
        var b = Pair(Self.prime2, Self.prime3)
        var c = Pair(Self.prime4, 0x85EB_CA77)
        var d = Pair(Self.prime5, Self.prime32)
        func accumulate(_ place: Int, key keyPlace: Int) {
            a = accumulated(a, at: place, key: keyPlace)
            b = accumulated(b, at: place &+ 16, key: keyPlace &+ 16)
            c = accumulated(c, at: place &+ 32, key: keyPlace &+ 32)
            d = accumulated(d, at: place &+ 48, key: keyPlace &+ 48)
        }
        // Blocks of 16 stripes of 64 bytes. The last stripe is the last 64 bytes, wherever they begin.
        var block = 0
        while block &+ 1024 < input.count {
            for stripe in 0..<16 { accumulate(block &+ stripe &* 64, key: stripe &* 8) }
            a = scrambled(a, 128)
            b = scrambled(b, 144)
            c = scrambled(c, 160)
            d = scrambled(d, 176)
            block &+= 1024
        }
        for stripe in 0..<(input.count - 1 - block) / 64 { accumulate(block &+ stripe &* 64, key: stripe &* 8) }
        accumulate(input.count - 64, key: 121)
        var sum = count &* Self.prime1
        for (number, pair) in [a, b, c, d].enumerated() {
            sum &+= Self.folded(pair[0] ^ key(11 + 16 * number), pair[1] ^ key(19 + 16 * number))
        }
        return Self.avalanche(sum)
    }

    @inline(__always) private func accumulated(_ sum: Pair, at place: Int, key keyPlace: Int) -> Pair {
        let data = Pair(word(place), word(place &+ 8))
        let value = data ^ Pair(key(keyPlace), key(keyPlace &+ 8))
        return sum &+ Pair(data[1], data[0]) &+ (value & Pair(repeating: 0xFFFF_FFFF)) &* (value &>> 32)
    }

    @inline(__always) private func scrambled(_ sum: Pair, _ keyPlace: Int) -> Pair {
        (sum ^ (sum &>> 47) ^ Pair(key(keyPlace), key(keyPlace &+ 8))) &* Pair(repeating: Self.prime32)
    }

    // MARK: Words

    @inline(__always) private func word(_ place: Int) -> UInt64 {
        UInt64(littleEndian: input.loadUnaligned(fromByteOffset: place, as: UInt64.self))
    }

    @inline(__always) private func key(_ place: Int) -> UInt64 {
        UInt64(littleEndian: secret.loadUnaligned(fromByteOffset: place, as: UInt64.self))
    }

    private static func folded(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.low ^ product.high
    }

    private static func avalanche(_ sum: UInt64) -> UInt64 {
        let value = (sum ^ sum >> 37) &* 0x1656_6791_9E37_79F9
        return value ^ value >> 32
    }

    /// The last step of XXH64.
    private static func avalanche64(_ sum: UInt64) -> UInt64 {
        var value = (sum ^ sum >> 33) &* prime2
        value = (value ^ value >> 29) &* prime3
        return value ^ value >> 32
    }

    private static let prime32: UInt64 = 0x9E37_79B1
    private static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
    private static let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
    private static let prime3: UInt64 = 0x1656_67B1_9E37_79F9
    private static let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63
    private static let prime5: UInt64 = 0x27D4_EB2F_1656_67C5

    private static let secret: [UInt8] = [
        0xB8, 0xFE, 0x6C, 0x39, 0x23, 0xA4, 0x4B, 0xBE, 0x7C, 0x01, 0x81, 0x2C, 0xF7, 0x21, 0xAD, 0x1C,
        0xDE, 0xD4, 0x6D, 0xE9, 0x83, 0x90, 0x97, 0xDB, 0x72, 0x40, 0xA4, 0xA4, 0xB7, 0xB3, 0x67, 0x1F,
        0xCB, 0x79, 0xE6, 0x4E, 0xCC, 0xC0, 0xE5, 0x78, 0x82, 0x5A, 0xD0, 0x7D, 0xCC, 0xFF, 0x72, 0x21,
        0xB8, 0x08, 0x46, 0x74, 0xF7, 0x43, 0x24, 0x8E, 0xE0, 0x35, 0x90, 0xE6, 0x81, 0x3A, 0x26, 0x4C,
        0x3C, 0x28, 0x52, 0xBB, 0x91, 0xC3, 0x00, 0xCB, 0x88, 0xD0, 0x65, 0x8B, 0x1B, 0x53, 0x2E, 0xA3,
        0x71, 0x64, 0x48, 0x97, 0xA2, 0x0D, 0xF9, 0x4E, 0x38, 0x19, 0xEF, 0x46, 0xA9, 0xDE, 0xAC, 0xD8,
        0xA8, 0xFA, 0x76, 0x3F, 0xE3, 0x9C, 0x34, 0x3F, 0xF9, 0xDC, 0xBB, 0xC7, 0xC7, 0x0B, 0x4F, 0x1D,
        0x8A, 0x51, 0xE0, 0x4B, 0xCD, 0xB4, 0x59, 0x31, 0xC8, 0x9F, 0x7E, 0xC9, 0xD9, 0x78, 0x73, 0x64,
        0xEA, 0xC5, 0xAC, 0x83, 0x34, 0xD3, 0xEB, 0xC3, 0xC5, 0x81, 0xA0, 0xFF, 0xFA, 0x13, 0x63, 0xEB,
        0x17, 0x0D, 0xDD, 0x51, 0xB7, 0xF0, 0xDA, 0x49, 0xD3, 0x16, 0x55, 0x26, 0x29, 0xD4, 0x68, 0x9E,
        0x2B, 0x16, 0xBE, 0x58, 0x7D, 0x47, 0xA1, 0xFC, 0x8F, 0xF8, 0xB8, 0xD1, 0x7A, 0xD0, 0x31, 0xCE,
        0x45, 0xCB, 0x3A, 0x8F, 0x95, 0x16, 0x04, 0x28, 0xAF, 0xD7, 0xFB, 0xCA, 0xBB, 0x4B, 0x40, 0x7E,
    ]
}
