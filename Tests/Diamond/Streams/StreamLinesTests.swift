import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("Lines of a stream") struct StreamLinesTests {
    @Test func `lines are the same however they are cut`() throws {
        var random = SplitMix(state: Effort.seed)
        let letters: [UInt8] = [.lineFeed, .carriageReturn, 0x61, 0x62]
        for _ in 0..<Effort.rounds(500, soaking: 50_000) {
            let bytes: [UInt8] = (0..<Int.random(in: 0...60, using: &random)).map { _ in
                letters[Int.random(in: 0..<letters.count, using: &random)]
            }
            var splitter = LineSplitter(limit: 60)
            var lines: [[UInt8]] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let size = Int.random(in: 0...rest.count, using: &random)
                splitter.feed(rest.prefix(size))
                rest = rest.dropFirst(size)
                while let line = try splitter.next() { lines.append(line) }
            }
            if let last = splitter.last() { lines.append(last) }
            var expected = bytes.split(separator: UInt8.lineFeed, omittingEmptySubsequences: false).map { Array($0) }
            if expected.last?.isEmpty == true { expected.removeLast() }
            #expect(lines == expected, "seed \(Effort.seed)")
            #expect(splitter.number == expected.count)
        }
    }
}
