import Foundation
import Testing

@testable import Diamond

@Suite("The buffer of an upload") struct UploadBufferTests {
    private func read(_ buffer: inout UploadBuffer, _ count: Int) -> Data {
        var target = Data(count: count)
        let moved = target.withUnsafeMutableBytes { buffer.read(into: $0) }
        return target.prefix(moved)
    }

    @Test(arguments: [1, 7, 1000, 65536, 1_000_000])
    func `returns its bytes in any portions`(portion: Int) {
        var buffer = UploadBuffer()
        var (index, received) = (0, Data())
        for size in [0, 1, 2, 300, 65535, 65536, 1, 70_000, 5] {
            // A slice, whose first index is not 0.
            buffer.append(Pattern.bytes(from: index, count: size + 256).dropFirst(256))
            index += size
            received += read(&buffer, portion)
        }
        while buffer.count > 0 { received += read(&buffer, portion) }
        #expect(received == Pattern.bytes(count: index))
        #expect(read(&buffer, portion).isEmpty)
    }

    @Test func `counts its bytes`() {
        var buffer = UploadBuffer()
        buffer.append(Data("abc".utf8))
        buffer.append(Data("de".utf8))
        #expect(buffer.count == 5)
        #expect(read(&buffer, 4) == Data("abcd".utf8))
        #expect(buffer.count == 1)
    }
}
