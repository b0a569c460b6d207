#if Tools
import Diamond
import DiamondTestSupport
import Testing

@testable import cachectl

@Suite("JSON pointers") struct JSONPointerTests {
    private static let document: JSONValue = [
        "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "m~n": 8, "é": 3, "o": ["x": nil],
    ]

    // The examples of RFC 6901 section 5, and others.
    @Test(
        arguments: [
            ("/foo", ["bar", "baz"]), ("/foo/0", "bar"), ("/", 0), ("/a~1b", 1), ("/c%d", 2), ("/m~0n", 8), ("/é", 3),
            ("/foo/2", nil), ("/foo/00", nil), ("/foo/-1", nil), ("/foo/+1", nil), ("/foo/-", nil), ("/foo/0/x", nil),
            ("/bar", nil), ("/e\u{301}", nil), ("/m~01n", nil),
        ] as [(String, JSONValue?)])
    func `leads to a value`(text: String, value: JSONValue?) throws {
        let pointer = try #require(JSONPointer(text))
        #expect(pointer.value(in: Self.document) == value)
    }

    @Test func `leads to a null, which is not absent`() throws {
        let value = try #require(JSONPointer("/o/x")).value(in: Self.document)
        #expect(value != Optional<JSONValue>.none && value == .some(.null))
    }

    @Test(arguments: ["", "foo", "#/foo", "$.foo", "/a~", "/a~2", "/a/~b"])
    func `is no pointer`(text: String) { #expect(JSONPointer(text) == nil) }
}
#endif
