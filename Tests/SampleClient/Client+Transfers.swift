import Diamond
import Foundation

extension Client {
    /// Downloads a file, with its progress on standard error. A broken transfer continues where it broke.
    func download(size: Int, to path: String) async throws {
        let connection = engine.start(.file(ofSize: size), to: URL(filePath: path))
        for await progress in connection.progress {
            Terminal.progress(progress.received, of: progress.expectedToReceive)
        }
        Terminal.endProgress()
        Terminal.line("\(try await connection.download.size) bytes in \(path)")
    }
}
