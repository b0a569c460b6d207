package import Foundation

/// A directory for one test, which is deleted with this object.
package final class TemporaryFolder: Sendable {
    package let url = FileManager.default.temporaryDirectory.appending(path: "diamond-\(UUID().uuidString)")

    /// If it cannot be created, no test can write into it.
    package init() { try? FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: url) }

    /// Writes a file.
    package func file(_ name: String, _ content: Data) throws -> URL {
        let file = url.appending(path: name)
        try content.write(to: file)
        return file
    }

    /// The names of its files, hidden ones included.
    package var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? ["?"]).sorted() }

    package func text(of file: URL) -> String? { try? String(contentsOf: file, encoding: .utf8) }
}
