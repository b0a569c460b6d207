import Testing

@testable import Diamond

@Suite("RFC 9651 section 4.2") struct StructuredFieldTests {
    @Test(
        arguments: [
            ("a=1", ["a": .integer(1)]), ("a", ["a": .boolean(true)]),
            ("a=?0, b=?1", ["a": .boolean(false), "b": .boolean(true)]),
            ("a=1,a=2", ["a": .integer(2)]), ("  a=1 \t,\t b  ", ["a": .integer(1), "b": .boolean(true)]),
            ("a=-12", ["a": .integer(-12)]), ("a=999999999999999", ["a": .integer(999_999_999_999_999)]),
            ("a=1.5", ["a": .decimal]), ("a=-123456789012.123", ["a": .decimal]),
            (#"a="x\"y\\z""#, ["a": .string(#"x"y\z"#)]), ("a=\"\"", ["a": .string("")]),
            ("a=tok:en/*", ["a": .token("tok:en/*")]), ("a=*", ["a": .token("*")]), ("a=:aGk=:", ["a": .bytes]),
            ("a=::", ["a": .bytes]), ("a=@1659578233", ["a": .date]), ("a=%\"f%c3%bc\"", ["a": .displayString]),
            ("a=(1 \"b\";c  d)", ["a": .innerList]), ("a=()", ["a": .innerList]),
            ("*a_-.*9=1", ["*a_-.*9": .integer(1)]),
            ("a;b=1;c=\"d\", e=2; f", ["a": .boolean(true), "e": .integer(2)]), ("", [:]), ("   ", [:]),
        ] as [(String, [String: StructuredField.Item])])
    func `a dictionary has the value of each key`(value: String, members: [String: StructuredField.Item]) {
        #expect(StructuredField.dictionary([value]) == members)
    }

    @Test(arguments: [
        "a=1,", ",a=1", "a=1,,b", "a=1 b", "A=1", "1=1", "a =1", "a= 1", "a=", "a=1a", "a=-", "a=+1", "a=1.", "a=.5",
        "a=1.2345", "a=1234567890123.1", "a=1000000000000000", "a=\"b", #"a="\b""#, "a=\"\u{E9}\"", "a=\"\t\"", "a=?2",
        "a=?",
        "a=:a", "a=:a b:", "a=@1.5", "a=@b", "a=%\"%C3\"", "a=%\"%f\"", "a=%\"%ff\"", "a=%b", "a=(1", "a=(1,2)",
        "a=(\"b\"c)",
        "a;", "a;B", "a;b=", "\ta", "a\n", "&&&", "a='b'",
    ])
    func `a malformed dictionary is nil`(value: String) {
        #expect(StructuredField.dictionary([value]) == nil)
    }

    @Test func `the lines of a field are parsed as one value`() {
        #expect(StructuredField.dictionary(["a=1", "b"]) == ["a": .integer(1), "b": .boolean(true)])
        #expect(StructuredField.dictionary(["a=1", ""]) == nil)
        #expect(StructuredField.list(["\"a\";b", "c, 1"]) == [.string("a"), .token("c"), .integer(1)])
        #expect(StructuredField.list(["\"a\", ,\"b\""]) == nil)
    }

    @Test(arguments: [("a b", "\"a b\""), (#"a"b\c"#, #""a\"b\\c""#), ("a\u{E9}\n", "\"a??\"")])
    func `a string is written in quotes`(text: String, written: String) {
        #expect(StructuredField.quoted(text) == written)
    }
}
