import Testing

@testable import Diamond

@Suite struct `A writer of bytes` {
    @Test func `writes its pieces behind what is there, one behind another`() {
        var bytes = Array("a".utf8)
        bytes.append(atMost: 20) { writer in
            writer.write(UInt8(ascii: "b"))
            writer.write(Array("cde".utf8).span)
            writer.write([UInt8]().span)
            writer.write("fg")
            writer.write(atMost: 5) { $0.adding("hi").adding(UInt8(ascii: "j")) }
            writer.write(decimal: -42)
        }
        #expect(String(decoding: bytes, as: UTF8.self) == "abcdefghij-42")
    }

    @Test func `may write nothing, and all there is room for`() {
        var bytes: [UInt8] = []
        bytes.append(atMost: 0) { $0.write([UInt8]().span) }
        #expect(bytes.isEmpty)
        bytes.append(atMost: 3) { $0.write("abc") }
        #expect(bytes == Array("abc".utf8))
    }

    @Test(arguments: [.min, -10, -9, -1, 0, 9, 10, 99, 100, 999_999_999_999_999_999, .max] as [Int64])
    func `writes integers in their digits`(integer: Int64) {
        var bytes: [UInt8] = []
        bytes.append(decimal: integer)
        #expect(String(decoding: bytes, as: UTF8.self) == "\(integer)")
    }
}
