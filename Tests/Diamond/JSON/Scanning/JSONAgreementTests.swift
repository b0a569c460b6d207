import DiamondTestSupport
import Foundation
import Testing

@Suite("JSON beside Foundation") struct JSONAgreementTests {
    @Test func `random documents and changes of them are read as Foundation's reader reads them`() throws {
        var random = SplitMix(state: Effort.seed)
        for round in 0..<Effort.rounds(4000, soaking: 1_000_000) {
            var bytes = Array(Self.document(&random, depth: 0).utf8)
            if round % 3 > 0 { Self.change(&bytes, &random) }
            let disagreement = FoundationJSON.disagreement(on: bytes)
            #expect(disagreement == nil, "seed \(Effort.seed), round \(round)")
        }
    }

    private static let pieces = [
        "a", "é", "日本", "😀", "\\n", "\\\"", "\\\\", "\\/", "\\u0041", "\\ud83d\\ude00", "\\u00e9", " ", "12345678", "",
    ]

    private static func string(_ random: inout SplitMix) -> String {
        "\"" + (0..<random.below(6)).map { _ in pieces[random.below(pieces.count)] }.joined() + "\""
    }

    private static func number(_ random: inout SplitMix) -> String {
        let integer = String(random.next() >> UInt64(random.below(64)))
        let fraction = random.below(2) == 0 ? "" : ".\(random.below(100_000))"
        let exponent = random.below(4) > 0 ? "" : ["e", "E", "e+", "E-"][random.below(4)] + "\(random.below(40))"
        return (random.below(3) == 0 ? "-" : "") + integer + fraction + exponent
    }

    private static func document(_ random: inout SplitMix, depth: Int) -> String {
        let space = ["", "", " ", "\n    ", "\t", "\r\n          "][random.below(6)]
        switch random.below(depth < 4 ? 9 : 6) {
        case 0: return space + "null"
        case 1: return space + "true"
        case 2: return "false" + space
        case 3: return space + number(&random)
        case 4, 5: return string(&random) + space
        case 6:
            let values = (0..<random.below(5)).map { _ in document(&random, depth: depth + 1) }
            return "[" + space + values.joined(separator: ",") + "]"
        default:
            let count = random.below(5)
            let members = (0..<count).map { "\"n\($0)\"\(space):" + document(&random, depth: depth + 1) }
            return space + "{" + members.joined(separator: "," + space) + space + "}"
        }
    }

    /// Changes, removes, repeats or moves a few bytes. No byte becomes zero: Foundation takes such a text for UTF-16.
    private static func change(_ bytes: inout [UInt8], _ random: inout SplitMix) {
        for _ in 0...random.below(2) where !bytes.isEmpty {
            let index = random.below(bytes.count)
            let signs = Array("\"\\{}[]:,.-+eE019tfn u\n\u{7F}".utf8) + [0x1F, 0x80, 0xC3, 0xE2, 0xED, 0xF0, 0xFF]
            switch random.below(4) {
            case 0: bytes[index] = signs[random.below(signs.count)]
            case 1: bytes.insert(signs[random.below(signs.count)], at: index)
            case 2: bytes.remove(at: index)
            default: bytes.removeSubrange(index...)
            }
        }
    }
}
