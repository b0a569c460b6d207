#if Valkey
import Diamond
import DiamondTestSupport
import DiamondValkey
import Foundation
import Testing

@Suite("The documentation of DiamondValkey", .limit(minutes: 1)) struct DocumentationTests {
    /// The code of the article.
    private func article(password: String) -> Engine {
        let place = CachePlace.valkey("valkey://:\(password)@cache.internal:6379/0")
        let engine = Engine(Engine.Configuration(cache: place))
        return engine
    }

    @Test func `the article shows only code that compiles here`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..").standardized
        let text = try String(
            contentsOf: root.appending(path: "Sources/DiamondValkey/Documentation.docc/DiamondValkey.md"),
            encoding: .utf8)
        let code = text.components(separatedBy: "```swift\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
        let compiled = try String(contentsOf: URL(filePath: #filePath), encoding: .utf8)
        #expect(code.count == 1)
        for line in code.joined().split(separator: "\n") where !line.hasPrefix("import ") {
            #expect(compiled.contains(line), "\(line)")
        }
    }

    @Test func `a place and a storage have no password in their names`() throws {
        let url = "valkey://app:hunter2@127.0.0.1:1/0"
        #expect(CachePlace.valkey(url).name == "valkey://127.0.0.1:1/0")
        #expect(try ValkeyStorage(url).name == "valkey://127.0.0.1:1/0")
        let error = #expect(throws: CacheError.self) { try ValkeyStorage("valkey://app:hunter2@h/x") }
        #expect(error.map { !"\($0)".contains("hunter2") } == true)
    }
}
#endif
