import Diamond
import Foundation

/// Downloads a body into a file, with an engine over a store, until it is killed.
enum Downloading {
    /// - Returns: the exit code.
    static func run(in directory: String, from url: String, to path: String) async -> Int32 {
        let engine = Engine(Engine.Configuration(store: Store(directory: URL(filePath: directory))))
        do throws(ConnectionError) { _ = try await engine.download(Request(url), to: URL(filePath: path)) } catch {
            print(error)
            return 1
        }
        await engine.close()
        return 0
    }
}
