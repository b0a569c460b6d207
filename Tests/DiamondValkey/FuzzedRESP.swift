#if Valkey
import NIOCore

@testable import DiamondValkey

/// The reader of RESP3, for any bytes at all: it reads the same in one piece and in many, and reads what it has read
/// back from its written form.
///
/// `FuzzedRESPTests` tries random inputs in every run of the tests; `scripts/fuzz` compiles this file into libFuzzer's
/// program.
enum FuzzedRESP {
    /// The first thing that is wrong with how an input is read; `nil` if nothing is.
    ///
    /// - Parameter input: its first byte selects the sizes of the pieces.
    static func failure(of input: some Collection<UInt8>) -> String? {
        guard let first = input.first else { return nil }
        let bytes = Array(input.dropFirst())
        let whole = Reading(of: [bytes])
        let step = Int(first % 16) + 1
        let pieces = stride(from: 0, to: bytes.count, by: step).map { Array(bytes[$0..<min($0 + step, bytes.count)]) }
        let divided = Reading(of: pieces)
        guard divided == whole else { return "read in two ways: \(whole) and \(divided)" }
        var written = ByteBuffer()
        for value in whole.values { written.write(value) }
        let again = Reading(of: [Array(written.readableBytesView)])
        guard again.values == whole.values, again.error == nil else { return "changed: \(whole) and \(again)" }
        return nil
    }

    private struct Reading: Equatable {
        var values: [RESPValue] = []
        var error: RESPError?

        init(of pieces: [[UInt8]]) {
            var limits = RESPLimits()
            limits.bytes = 4096
            limits.line = 256
            limits.items = 100
            limits.depth = 5
            var decoder = RESPDecoder(limits: limits)
            do throws(RESPError) {
                for piece in pieces {
                    decoder.append(ByteBuffer(bytes: piece))
                    while let value = try decoder.next() { values.append(value.comparable) }
                }
            } catch {
                self.error = error
            }
        }
    }
}

extension RESPValue {
    /// The value with a text in place of each double: not a number is not equal to itself.
    fileprivate var comparable: RESPValue {
        switch self {
        case .double(let number): .bulk(ByteBuffer(string: "\(number)"))
        // A refusal is written with one space between its words.
        case .error(let refusal): .bulk(ByteBuffer(string: "\(refusal.code) \(refusal.message)"))
        // A format that is not UTF-8 takes more bytes when it is written.
        case .verbatim(let bytes, _): .bulk(bytes)
        case .array(let items): .array(items.map(\.comparable))
        case .set(let items): .set(items.map(\.comparable))
        case .map(let items): .map(items.map(\.comparable))
        case .push(let items): .push(items.map(\.comparable))
        case .simple(let text): .bulk(ByteBuffer(string: text))
        case .bulk, .integer, .bigNumber, .boolean, .null: self
        }
    }
}

extension ByteBuffer {
    fileprivate mutating func write(_ value: RESPValue) {
        switch value {
        case .simple(let text): write("$", [UInt8](text.utf8))
        case .bulk(let bytes): write("$", Array(bytes.readableBytesView))
        case .verbatim(let bytes, let format): write("=", Array("\(format):".utf8) + Array(bytes.readableBytesView))
        case .integer(let number): writeString(":\(number)\r\n")
        case .bigNumber(let digits): writeString("(\(digits)\r\n")
        case .double(let number): writeString(",\(number)\r\n")
        case .boolean(let isTrue): writeString(isTrue ? "#t\r\n" : "#f\r\n")
        case .null: writeString("_\r\n")
        case .array(let items): write("*", items, count: items.count)
        case .set(let items): write("~", items, count: items.count)
        case .map(let items): write("%", items, count: items.count / 2)
        case .push(let items): write(">", items, count: items.count)
        case .error(let refusal): write("!", [UInt8]("\(refusal.code) \(refusal.message)".utf8))
        }
    }

    private mutating func write(_ type: String, _ bytes: [UInt8]) {
        writeString("\(type)\(bytes.count)\r\n")
        writeBytes(bytes)
        writeString("\r\n")
    }

    private mutating func write(_ type: String, _ items: [RESPValue], count: Int) {
        writeString("\(type)\(count)\r\n")
        for item in items { write(item) }
    }
}
#endif
