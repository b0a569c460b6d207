package import Diamond
package import DiamondTesting
package import Foundation
import HTTPTypes

extension TemporaryStore {
    /// Returns all bytes of the store's files, including write-ahead logs, without the reserved space.
    package func bytes() throws -> Data {
        var bytes = Data()
        for file in try FileManager.default.contentsOfDirectory(at: directory, includingPropertiesForKeys: nil)
        where file.lastPathComponent != "cache.reserve" {
            bytes += try Data(contentsOf: file)
        }
        return bytes
    }

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

    /// Creates an engine over this store, with a stub and a clock that stands still.
    package func engine(
        _ transport: any Transport,
        clock: ManualClock = ManualClock(),
        _ change: (inout Engine.Configuration) -> Void = { _ in }
    ) -> Engine {
        var configuration = Engine.Configuration(store: store)
        configuration.transport = transport
        configuration.now = { clock.now }
        // Independent of the machine's languages.
        configuration.headers = [.userAgent: "Diamond"]
        // One response for one request; retries have tests of their own.
        configuration.retry = .never
        change(&configuration)
        return Engine(configuration)
    }
}
