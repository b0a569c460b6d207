#if Valkey
import DiamondTestSupport
import Foundation
import NIOCore
import NIOPosix

@testable import DiamondValkey

/// A Valkey or Redis server of one test, on a Unix socket. It ends with this object.
final class ValkeyServer: Sendable {
    struct Missing: Error, CustomStringConvertible { let description: String }

    private let folder: TemporaryFolder
    private let options: [String]
    private let process: ChildProcess

    /// Starts a server that keeps nothing on disk, and waits until it answers.
    ///
    /// - Parameter folder: the folder of the socket; that of another server to take its place.
    init(_ options: [String] = [], in folder: TemporaryFolder = TemporaryFolder()) async throws {
        self.folder = folder
        self.options = options
        let files = ["--unixsocket", "\(folder.url.path)/socket", "--dir", folder.url.path]
        let modes = ["--port", "0", "--save", "", "--appendonly", "no"]
        process = try ChildProcess(try Self.executable(), files + modes + options, output: .null, errors: .null)
        await untilTrue { FileManager.default.fileExists(atPath: "\(folder.url.path)/socket") }
        // The file is there before the server listens.
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        var channel: (any Channel)?
        while channel == nil {
            try Task.checkCancellation()
            channel = try? await bootstrap.connect(unixDomainSocketPath: "\(folder.url.path)/socket").get()
        }
        try await channel?.close()
    }

    deinit {
        process.kill(SIGCONT)
        process.kill()
    }

    var url: String { "valkey+unix://\(folder.url.path)/socket" }

    /// Stops the process, which answers no more until it continues.
    func pause() async {
        process.kill(SIGSTOP)
        await untilTrue { process.isStopped }
    }

    func resume() { process.kill(SIGCONT) }

    func end() async {
        // Also while it is stopped. It answers nothing more.
        process.kill()
        _ = await process.ended()
        try? FileManager.default.removeItem(atPath: "\(folder.url.path)/socket")
    }

    /// Starts an empty server at the address of this one, which has ended.
    func restarted() async throws -> ValkeyServer { try await ValkeyServer(options, in: folder) }

    private static func executable() throws -> URL {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":") + ["/usr/bin"]
        let paths = folders.flatMap { ["\($0)/valkey-server", "\($0)/redis-server"] }
        guard let path = paths.first(where: FileManager.default.isExecutableFile) else {
            throw Missing(description: "there is no valkey-server: scripts/fleet installs one")
        }
        return URL(filePath: path)
    }
}
#endif
