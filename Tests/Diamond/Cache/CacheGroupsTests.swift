import HTTPTypes
import Testing

@testable import Diamond

private let groups = HTTPField.Name("Cache-Groups") ?? .cacheControl
private let invalidation = HTTPField.Name("Cache-Group-Invalidation") ?? .cacheControl

private func names(_ groups: [String], _ origin: String = "http://h:80") -> Tags {
    Tags(groups.map { CacheEntry.name(ofGroup: $0, origin: origin) })
}

@Suite("RFC 9875 section 2") struct CacheGroupsTests {
    @Test(
        arguments: [
            ("\"a\"", ["a"]), ("\"a\", \"B c\" ,\"a\"", ["a", "B c"]), ("\"a\";x=1;y, \"b\"", ["a", "b"]),
            (#""a\"b""#, [#"a"b"#]), ("\"\"", [""]), ("", []), ("a", []), ("\"a\", b", []), ("\"a\", 1", []),
            ("\"a\",", []), ("(\"a\")", []), ("\"a", []), ("\"a\" \"b\"", []),
        ] as [(String, [String])])
    func `a field is a list of strings`(value: String, expected: [String]) {
        #expect(CacheGroups.names(of: [groups: value], origin: "http://h:80") == names(expected))
        #expect(CacheGroups.names(invalidatedBy: [invalidation: value], origin: "http://h:80") == names(expected))
        #expect(CacheGroups.names(of: [invalidation: value], origin: "http://h:80").isEmpty)
    }

    @Test func `many groups with long names count`() {
        let long = (0..<32).map { String(repeating: "x", count: 30) + String($0 + 10) }
        let value = long.map { "\"\($0)\"" }.joined(separator: ", ")
        #expect(CacheGroups.names(of: [groups: value], origin: "http://h:80") == names(long))
        let lines = HTTPFields(long.map { HTTPField(name: groups, value: "\"\($0)\"") })
        #expect(CacheGroups.names(of: lines, origin: "http://h:80") == names(long))
    }

    @Test func `groups of different origins are distinct, and names are case-sensitive`() {
        let all = names(["a", "A"]).union(names(["a"], "https://h:443")).union(names(["a"], "http://h:8080"))
        #expect(all.count == 4)
    }
}
