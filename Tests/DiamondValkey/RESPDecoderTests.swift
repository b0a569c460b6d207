#if Valkey
import DiamondTestSupport
import NIOCore
import Testing

@testable import DiamondValkey

@Suite("RESP3", .limit(minutes: 1)) struct RESPDecoderTests {
    private static let values: [(String, RESPValue)] = [
        ("+OK\r\n", .simple("OK")),
        ("+\r\n", .simple("")),
        (":0\r\n", .integer(0)),
        (":-12\r\n", .integer(-12)),
        (":+12\r\n", .integer(12)),
        (":9223372036854775807\r\n", .integer(.max)),
        (":-9223372036854775808\r\n", .integer(.min)),
        ("$3\r\na\r\n\r\n", .bulk(ByteBuffer(string: "a\r\n"))),
        ("$0\r\n\r\n", .bulk(ByteBuffer())),
        ("$-1\r\n", .null),
        ("*-1\r\n", .null),
        ("_\r\n", .null),
        ("#t\r\n", .boolean(true)),
        ("#f\r\n", .boolean(false)),
        (",1.5\r\n", .double(1.5)),
        (",-2e3\r\n", .double(-2000)),
        (",inf\r\n", .double(.infinity)),
        (",-inf\r\n", .double(-.infinity)),
        ("(3492890328409238509324850943850943825024385\r\n", .bigNumber("3492890328409238509324850943850943825024385")),
        ("=8\r\ntxt:some\r\n", .verbatim(ByteBuffer(string: "some"), format: "txt")),
        ("-ERR no such key\r\n", .error(RESPRefusal("ERR no such key"))),
        ("!9\r\nOOM a\r\nbc\r\n", .error(RESPRefusal("OOM a\r\nbc"))),
        ("*0\r\n", .array([])),
        ("*2\r\n:1\r\n*1\r\n_\r\n", .array([.integer(1), .array([.null])])),
        ("~1\r\n+a\r\n", .set([.simple("a")])),
        ("%2\r\n+a\r\n:1\r\n+b\r\n%0\r\n", .map([.simple("a"), .integer(1), .simple("b"), .map([])])),
        (">2\r\n+invalidate\r\n*1\r\n+k\r\n", .push([.simple("invalidate"), .array([.simple("k")])])),
        ("|1\r\n+ttl\r\n:5\r\n+a\r\n", .simple("a")),
        ("|0\r\n+a\r\n", .simple("a")),
        ("*2\r\n|1\r\n+x\r\n*1\r\n:1\r\n:7\r\n:8\r\n", .array([.integer(7), .integer(8)])),
    ]

    @Test(arguments: values) func `a value is read, whole and byte by byte`(text: String, value: RESPValue) throws {
        var whole = RESPDecoder()
        whole.append(ByteBuffer(string: text + text))
        #expect(try whole.next() == value)
        #expect(try whole.next() == value)
        #expect(try whole.next() == nil)
        #expect(whole.bufferedBytes == 0)

        var slow = RESPDecoder()
        for byte in text.utf8.dropLast() {
            slow.append(ByteBuffer(bytes: [byte]))
            #expect(try slow.next() == nil)
        }
        slow.append(ByteBuffer(string: "\n"))
        #expect(try slow.next() == value)
    }

    @Test func `a push in the middle of a reply is a value of its own`() throws {
        var decoder = RESPDecoder()
        decoder.append(ByteBuffer(string: "*2\r\n>2\r\n+a\r\n*1\r\n:5\r\n*1\r\n>0\r\n:1\r\n:2\r\n"))
        #expect(try decoder.next() == .push([.simple("a"), .array([.integer(5)])]))
        #expect(try decoder.next() == .push([]))
        #expect(try decoder.next() == .array([.array([.integer(1)]), .integer(2)]))
        #expect(try decoder.next() == nil)
    }

    @Test func `not a number is a double`() throws {
        var decoder = RESPDecoder()
        decoder.append(ByteBuffer(string: ",nan\r\n"))
        guard case .double(let number)? = try decoder.next() else {
            Issue.record("no double")
            return
        }
        #expect(number.isNaN)
    }

    @Test(arguments: [
        ("?\r\n", RESPError.Problem.unknownType), ("\r\n", .unknownType), ("+a\n", .badLineEnd),
        ("+a\rb\r\n", .badLineEnd), (":\r\n", .badNumber), (":1a\r\n", .badNumber),
        (":9223372036854775808\r\n", .badNumber), (":--1\r\n", .badNumber), (",0x10\r\n", .badNumber),
        (",\r\n", .badNumber), ("(12a\r\n", .badNumber), ("(-\r\n", .badNumber), ("#x\r\n", .badBoolean),
        ("_0\r\n", .badNull), ("$-2\r\n", .badLength), ("$+1\r\n", .badLength), ("$a\r\n", .badLength),
        ("*-2\r\n", .badLength), ("~-1\r\n", .badLength), ("%x\r\n", .badLength), ("$1\r\nabc", .badLineEnd),
        ("=3\r\ntxt\r\n", .badFormat), ("=4\r\ntxt.\r\n", .badFormat), ("$?\r\n", .streamed), ("*?\r\n", .streamed),
        ("%?\r\n", .streamed), (";4\r\nabcd\r\n", .streamed), (".\r\n", .streamed),
    ])
    func `other bytes are refused, with their offset`(text: String, problem: RESPError.Problem) {
        var decoder = RESPDecoder()
        decoder.append(ByteBuffer(string: "+before\r\n" + text))
        let error = #expect(throws: RESPError.self) { while try decoder.next() != nil {} }
        #expect(error?.problem == problem)
        #expect(error?.offset == 9)
    }

    private static func limits(_ set: (inout RESPLimits) -> Void) -> RESPLimits {
        var limits = RESPLimits()
        set(&limits)
        return limits
    }

    @Test(arguments: [
        (limits { $0.line = 8 }, "+123456789", RESPError.Problem.longLine),
        (limits { $0.line = 8 }, "+123456789\r\n", .longLine),
        (limits { $0.bytes = 10 }, "$11\r\n", .longReply),
        (limits { $0.bytes = 10 }, "*2\r\n$5\r\nabcde\r\n$5\r\n", .longReply),
        (limits { $0.items = 3 }, "*4\r\n", .manyItems),
        (limits { $0.items = 3 }, "*2\r\n*1\r\n_\r\n_\r\n", .manyItems),
        (limits { $0.items = 3 }, "%2\r\n", .manyItems),
        (limits { _ in }, "*9223372036854775807\r\n", .manyItems),
        (limits { _ in }, "%9223372036854775807\r\n", .manyItems),
        (limits { $0.depth = 2 }, "*1\r\n*1\r\n*1\r\n", .deep),
        (limits { _ in }, "$9223372036854775807\r\n", .longReply),
    ])
    func `a server cannot make the reader take more than the limits`(
        limits: RESPLimits, text: String, problem: RESPError.Problem
    ) {
        var decoder = RESPDecoder(limits: limits)
        decoder.append(ByteBuffer(string: text))
        let error = #expect(throws: RESPError.self) { while try decoder.next() != nil {} }
        #expect(error?.problem == problem)
    }

    @Test func `the limits are of one reply, not of the connection`() throws {
        var limits = RESPLimits()
        limits.bytes = 40
        limits.items = 3
        var decoder = RESPDecoder(limits: limits)
        for _ in 0..<100 {
            decoder.append(ByteBuffer(string: "*2\r\n$4\r\nabcd\r\n:1\r\n"))
            #expect(try decoder.next() == .array([.bulk(ByteBuffer(string: "abcd")), .integer(1)]))
        }
    }

    @Test func `values that are kept do not keep the bytes before them`() throws {
        let value = "$1000\r\n\(String(repeating: "x", count: 1000))\r\n"
        var rest = ByteBuffer(string: String(repeating: value, count: 200))
        var decoder = RESPDecoder()
        var kept: [ByteBuffer] = []
        // Pieces that end in the middle of values.
        while let piece = rest.readBytes(length: min(1509, rest.readableBytes)), !piece.isEmpty {
            decoder.append(ByteBuffer(bytes: piece))
            while let value = try decoder.next() { if let bytes = value.bytes { kept.append(bytes) } }
        }
        #expect(kept.count == 200)
        #expect(kept.allSatisfy { $0.readableBytes == 1000 && $0.storageCapacity <= 8192 })
    }

    @Test func `a command is an array of bulk strings, and its description has no arguments`() {
        var command = RESPCommand("SET", argumentCount: 2)
        command.add("key")
        command.add(ByteBuffer(string: "long value\r\n"))
        #expect(String(buffer: command.bytes) == "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$12\r\nlong value\r\n\r\n")
        #expect("\(RESPCommand("AUTH", "default", "hunter2"))" == "AUTH")
    }

    @Test func `an error names its place, and none of the bytes`() {
        var decoder = RESPDecoder()
        decoder.append(ByteBuffer(string: ":hunter2\r\n"))
        let error = #expect(throws: RESPError.self) { try decoder.next() }
        #expect("\(error!)" == "the server sent a number that is none, at byte 0")
    }
}
#endif
