import Testing

@testable import Diamond

@Suite("A writer of bytes") struct ByteWriterTests {
    @Test func `appends its pieces to the existing bytes, one after another`() {
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

    @Test func `may write no byte, or as many bytes as fit`() {
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
