import Diamond
package import DiamondTesting
import Foundation

extension TemporaryStore {
    /// Returns the names of the files of the store that contain a text, as `strings` would find it.
    package func files(containing text: String) throws -> [String] {
        let pattern = Data(text.utf8)
        let paths = try FileManager.default.subpathsOfDirectory(atPath: directory.path).sorted()
        return paths.filter { path in
            let bytes = try? Data(contentsOf: directory.appending(path: path))
            return bytes?.range(of: pattern) != nil
        }
    }

    /// Returns the texts that a file of the store contains.
    package func found(_ texts: [String]) throws -> [String] { try texts.filter { try !files(containing: $0).isEmpty } }
}
