import Diamond
import Foundation

/// Receives a body into a file or into the cache, with an engine over a store, until it is killed.
enum Downloading {
    /// The key of a sealed store.
    private static let key = Data(repeating: 7, count: 32)

    /// - Parameter path: the path of the file; `nil` for the cache.
    /// - Returns: the exit code.
    static func run(in directory: String, from url: String, to path: String?, isSealed: Bool) async -> Int32 {
        var configuration = Engine.Configuration(store: Store(directory: URL(filePath: directory)))
        if isSealed { configuration.seal = try? AESGCMSeal(key: key) }
        let engine = Engine(configuration)
        do throws(ConnectionError) {
            if let path {
                _ = try await engine.download(Request(url), to: URL(filePath: path))
            } else {
                _ = try await engine.send(Request(url))
            }
        } catch {
            print(error)
            return 1
        }
        await engine.close()
        return 0
    }
}
