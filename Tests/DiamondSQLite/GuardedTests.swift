import Foundation
import Testing

@testable import DiamondSQLite

@Suite("A lock with its state") struct GuardedTests {
    /// Each access would wrap the function in one more function, and calls of it would take longer and longer. A structure
    /// with the function is not wrapped.
    @Test func `guards a function only as a part of a structure`() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources")
        let paths = try FileManager.default.subpathsOfDirectory(atPath: sources.path).filter { $0.hasSuffix(".swift") }
        #expect(paths.count > 100)
        for path in paths {
            let text = try String(contentsOf: sources.appending(path: path), encoding: .utf8)
            #expect(!text.contains(#/Guarded<\(*(@Sendable |@MainActor )?\(.*->/#), "\(path)")
            #expect(!text.contains(#/Guarded<\(?@/#), "\(path)")
        }
    }
}
