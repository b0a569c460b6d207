import DiamondTestSupport
import Testing

@testable import Diamond

@Suite("A scanner of JSON") struct JSONScannerTests {
    private static func error(_ text: some Sequence<UInt8>, isolatesFaults: Bool = false) -> JSONError? {
        do {
            _ = try JSONValue(reading: text, isolatesFaults: isolatesFaults)
            return nil
        } catch { return error }
    }

    // RFC 8259 sections 2 to 7.
    @Test(arguments: [
        "[]", "[ ]", "[[]   ]", "[\"\"]", "[null,1,\"1\",{}]", "[1\n]", " [1]", "[2] ", "[]\n", "\t[\r\n]", "[false]",
        "null", "true", "false", "42", "-0.1", "\"asd\"", "\"\"", "0", "-0", "0e1", "0e+1", "0E-1", "-0e0", "1e2",
        "[123e65]", "[1E+2]", "[1e-2]", "[123.456e78]", "[123.456789]", "[-1]", "[-123]", "[1.5E10]", "[0.0]",
        "[20e1]", "{}", "{ }", "{\"\":0}", "{\"a\":[]}", "{\"a\" : 1 , \"b\":2}", "{\n\"a\":\"b\"\n}",
        #"{"foo\u0000bar":42}"#, #"["\"\\\/\b\f\n\r\t"]"#, #"["\u0060\u012a\u12AB"]"#, #"["\ud83d\ude39\uD834\uDd1e"]"#,
        #"["\uDBFF\uDFFE"]"#, #"["\\a","\\n","\\u0000"]"#, #"["\u0000"]"#, #"["\u2028\u2029\uFEFF\uFFFF"]"#,
        #"["\u005C\u0022"]"#, #"{"\u0061":1}"#, "[\"\u{7F}\u{80}\u{7FF}\u{800}\u{FFFF}\u{10000}\u{10FFFF}\"]",
        "[\"\u{D7FF}\u{E000}\u{2028}\u{FFFE}\"]", "[\"a/*b*/c\"]", "[\" a \"]", "[\"é\u{301}\"]",
        "[1000000000000000000000000000]", "[0.00000000000000000000000000000000000001]", "[\"12345678é\"]",
    ]) func `a text that is JSON is read`(text: String) {
        #expect(Self.error(text.utf8) == nil)
    }

    @Test(arguments: [
        "", " ", "[", "]", "[1", "[1,", "[,", "[,1]", "[1,]", "[1,,2]", "[\"\",]", "[\"a\"", "[1 true]", "[a", "[\"",
        "[1,\n1\n,1", "[{}", "[-]", "[*]", "[1:2]", "[\"x\"]]", "[][]", "[]x", "1]", "]1", "{", "}", "{\"a\"",
        "{\"a\":",
        "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{\"a\":1,,}", "{,}", "{,\"a\":1}", "{\"a\" 1}", "{\"a\"::1}",
        "{\"a\":1 \"b\":2}", "{\"a\",1}", "{a:1}", "{1:1}", "{'a':1}", "{\"a\":1}}", "{\"a\":1}#", "{\"a\":1}//",
        "{\"a\":1/**/}", "/**/1", "{null:null,null:null}", "{[:1}", "{\"a\":1;}", "{\"a\":'b'}", "[1}", "{\"a\":1]",
        "[\"a\":1]", "{]", "nul", "nulL", "truE", "tru", "fals", "falsey", "True", "NaN", "Infinity", "-Infinity",
        "[+1]", "[-01]", "[012]", "[00]", "[-]", "[.1]", "[-.1]", "[1.]", "[0.]", "[2.e3]", "[.e1]", "[1e]", "[0e]",
        "[0e+]", "[1E-]", "[1e+-2]", "[1ee2]", "[1.0e]", "[1 000]", "[0x1]", "[1a]", "[1_0]", "[--1]", "[- 1]", "[1-2]",
        "[1..2]", "[1.2.3]", "[9.3e+]", "[\u{FF11}]", "[\"\\\"]", "[\"\\x00\"]", "[\"\\a\"]", "[\"\\U0041\"]",
        "[\"\\u00A\"]", "[\"\\u\"]", "[\"\\u00G0\"]", "[\"\\uD834\\u\"]", "[\"\\uD834\\uD\"]", "[\"\\ud800\\u12\"]",
        "[\"\\😀\"]", "[\"\n\"]", "[\"\t\"]", "[\"\u{0}\"]", "[\"\u{1F}\"]", "[\"12345678\u{1F}\"]", "[\"1234567\n\"]",
        "['a']", "[\\u0020\"a\"]", "\"", "\"\\", "\"\\u", "[\u{A0}]", "\u{2060}[]", "[\u{C}]", "[\u{B}]", "[\u{0}]",
        "[]\u{0}", "\u{FEFF}\u{FEFF}1", "\u{FEFF}", "<.>", "[<null>]", "&", "☃", "\u{0}",
    ]) func `a text that is no JSON is refused as malformed, with or without isolation of faults`(text: String) {
        #expect(Self.error(text.utf8)?.code == .malformed)
        #expect(Self.error(text.utf8, isolatesFaults: true)?.code == .malformed)
    }

    @Test(
        arguments: [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF],
            [0xE2, 0x82], [0xE2, 0x28, 0xA1], [0xE2, 0x82, 0x28], [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF],
            [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF0, 0x9F, 0x98], [0xF0, 0x28, 0x8C, 0xBC],
            [0xF0, 0x90, 0x28, 0xBC], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80],
            [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFE], [0xFF],
        ] as [[UInt8]])
    func `bytes that are not UTF-8 are refused with their offset, wherever they are`(bytes: [UInt8]) {
        for before in ["", "a", "é", "1234567", "12345678", "12345678😀x", "\\n"] {
            let text = Array("[\"é\n".utf8.dropLast()) + Array(before.utf8) + bytes
            for after in ["", "\"]", "abcdefghijklmnop\"]"] {
                let error = Self.error(text + Array(after.utf8))
                #expect(error?.code == .malformed && error?.offset == text.count - bytes.count, "\(before) \(after)")
            }
        }
    }

    @Test func `each UTF-8 character is read, and each cut-off one is refused`() throws {
        var scalars = (0..<0x2100).compactMap(Unicode.Scalar.init)
        scalars += stride(from: 0x2100, to: 0x11_0000, by: 97).compactMap { Unicode.Scalar($0) }
        for scalar in scalars where scalar.value >= 0x20 && scalar != "\"" && scalar != "\\" {
            let text = Array("\"\(scalar)\"".utf8)
            #expect(try JSONValue(reading: text) == .string(String(Character(scalar))))
            guard scalar.value >= 0x80 else { continue }
            #expect(Self.error(text.dropLast(2))?.offset == 1 && Self.error(text.dropLast(2) + [0x22])?.offset == 1)
        }
    }

    @Test(arguments: [
        ("", 0), ("[1 2]", 3), ("{\"a\":1,}", 7), ("\n\n  nul", 4), ("é", 0), ("[\"é\", x]", 7), ("[1]]", 3), ("01", 1),
        ("\"abc", 4), ("{\"a\":1,\"a\":2}", 7), ("[\"\\ud800\"]", 4), ("[1, 1e400]", 4), ("{\"a\" 1}", 5),
    ]) func `an error in JSON has the offset of its mistake`(text: String, offset: Int) {
        #expect(Self.error(text.utf8)?.offset == offset)
    }

    @Test(arguments: [
        (#"{"a":1,"a":2,"b":"\ud800"}"#, 7), (#"{"b":"\ud800","a":1,"a":2}"#, 8), (#"{"a":1,"a":"\ud800"}"#, 14),
        (#"{"a":1,"b":{"c":1,"c":2},"a":1}"#, 18), (#"{"é":1,"é":2}"#, 8), (#"{"é":1,"\u0065\u0301":2}"#, 8),
    ]) func `the first ambiguity of a text is reported`(text: String, offset: Int) {
        let error = Self.error(text.utf8)
        #expect(error?.code == .ambiguous && error?.offset == offset, "\(error?.message ?? "")")
    }

    @Test(arguments: 2...40) func `a repeated name is found, whatever the number and the kind of names`(count: Int) {
        for name in ["n", "a longer name ", "é", "\\u0061"] {
            let members = (0..<count).map { "\"\(name)\($0)\":\($0)" }
            let object = "{\(members.joined(separator: ","))}"
            let twice = "{\(members.joined(separator: ",")),\"\(name)\(count / 2)\":1}"
            #expect(Self.error("[\(object),\(object),\(object)]".utf8) == nil)
            #expect(Self.error("[\(object),\(twice)]".utf8)?.message.contains("twice") == true)
            #expect(Self.error("[\(twice),\(object)]".utf8)?.message.contains("twice") == true)
            #expect(Self.error("[\(object),\(twice)]".utf8, isolatesFaults: true) == nil)
        }
    }

    /// Texts of a size that took quadratic time, or much memory, where a reader was careless.
    @Test(arguments: ["[", "{\"a\":", "[1,", "\"\\u0000", "1", "0", " ", "é", "\"a\""])
    func `many repetitions of one piece are refused`(piece: String) {
        let bytes = Self.repeated(piece)
        #expect(Self.error(bytes) != nil && Self.error(bytes, isolatesFaults: true) != nil)
    }

    @Test func `many names, digits, escapes and faults are read`() throws {
        let names = Array("{".utf8) + Self.repeated("\"name\":1,") + Array("\"end\":1}".utf8)
        #expect(Self.error(names)?.code == .ambiguous)
        let differing = "{" + (0..<8000).map { "\"n\($0)\":1" }.joined(separator: ",") + "}"
        guard case .object(let members) = try JSONValue(reading: differing.utf8) else { throw CancellationError() }
        #expect(members.count == 8000)
        let fraction = Array("0.".utf8) + Self.repeated("7")
        #expect(try JSONValue(reading: fraction).numberText?.utf8.count == fraction.count)
        let escapes = Array("\"".utf8) + Self.repeated("\\u0000") + Array("\"".utf8)
        #expect(try JSONValue(reading: escapes) == .string(String(repeating: "\0", count: escapes.count / 6)))
        let faults = Array("[0".utf8) + Self.repeated(",{\"a\":1e999}") + Array("]".utf8)
        #expect(try JSONValue(reading: faults, isolatesFaults: true)[1].fault != nil)
        let lists = Array("[0".utf8) + Self.repeated(",[]") + Array("]".utf8)
        #expect(try JSONValue(reading: lists)[1] == [])
    }

    private static func repeated(_ piece: String) -> [UInt8] {
        let size = Effort.rounds(1 << 17, soaking: 10 << 20)
        return Array(repeatElement(Array(piece.utf8), count: size / piece.utf8.count).joined())
    }
}
