import Foundation
import Testing

@testable import Diamond

@Suite("The key of a request") struct RequestKeyTests {
    private static let bytes = Data((0..<32).map { UInt8(truncatingIfNeeded: $0 * 7 + 130) })

    @Test func `keeps its bytes as data, as text and in its prefix`() throws {
        let key = try #require(RequestKey(stored: Self.bytes))
        #expect(key.bytes == Self.bytes)
        #expect(key.description == Hex.text(of: Self.bytes))
        #expect(RequestKey(key.description) == key)
        #expect(key.prefix == Self.bytes.prefix(8).reduce(0) { $0 << 8 | Int64($1) })
    }

    @Test(arguments: 0..<32) func `request keys that differ in any byte are different`(index: Int) throws {
        var bytes = Self.bytes
        bytes[index] ^= 1
        #expect(RequestKey(stored: bytes) != RequestKey(stored: Self.bytes))
    }

    @Test(arguments: [0, 31, 33]) func `is 32 bytes`(count: Int) {
        #expect(RequestKey(stored: Data(count: count)) == nil)
        #expect(RequestKey(String(repeating: "00", count: count)) == nil)
    }
}
