import Foundation
import Testing

@Suite("The page on the rules of HTTP caching") struct RulesListTests {
    private static let tests = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test func `names only suites and tests that exist`() throws {
        let page = Self.tests.appending(path: "../Sources/Diamond/Documentation.docc/HTTPCachingRules.md")
        let rows = try String(contentsOf: page, encoding: .utf8).split(separator: "\n").filter { $0.hasPrefix("|") }
        let sources = try #require(FileManager.default.enumerator(at: Self.tests, includingPropertiesForKeys: nil))
            .compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
            .map { try String(contentsOf: $0, encoding: .utf8) }.joined()
        // The last column has names and code. Names have spaces, and code has none.
        let names = rows.compactMap { $0.split(separator: "|").last }
            .flatMap { $0.split(separator: "`", omittingEmptySubsequences: false).enumerated() }
            .filter { !$0.offset.isMultiple(of: 2) && $0.element.contains(" ") }.map { String($0.element) }
        #expect(names.count > 40)
        for name in Set(names) {
            #expect(sources.contains("@Suite(\"\(name)\"") || sources.contains("func `\(name)`"), "\(name)")
        }
    }
}
