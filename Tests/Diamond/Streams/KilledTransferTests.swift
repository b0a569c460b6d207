import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("A transfer whose process is killed", .limit(minutes: 5)) struct KilledTransferTests {
    private let temporary = TemporaryStore()
    private let folder = TemporaryFolder()
    private static let body = Data.noise(8 << 20)
    private static let step = 256 << 10

    /// The transfers that the server has sent.
    private struct Sent: Sendable {
        /// The bytes after which the next transfer stands still.
        var room = 0
        var starts: [Int] = []
    }

    private static func server(_ sent: Guarded<Sent>) throws -> RawServer {
        try RawServer { connection in
            guard let head = connection.readHead() else { return }
            let start = head.firstMatch(of: /[Rr]ange: bytes=([0-9]+)-/).flatMap { Int($0.1) } ?? 0
            let room = sent.withLock { sent in
                sent.starts.append(start)
                return sent.room
            }
            let status = start > 0 ? "206 Partial Content" : "200 OK"
            let range = start > 0 ? "Content-Range: bytes \(start)-\(Self.body.count - 1)/\(Self.body.count)\r\n" : ""
            connection.write(
                "HTTP/1.1 \(status)\r\nETag: \"1\"\r\nCache-Control: max-age=60\r\n"
                    + "Content-Length: \(Self.body.count - start)\r\n\(range)Connection: close\r\n\r\n")
            connection.write(Array(Self.body.dropFirst(start).prefix(room)))
            if start + room < Self.body.count { _ = connection.readRest() }
        }
    }

    /// The bytes of the part file, or of the chunks of the partial entry.
    private func written(isFile: Bool) -> Int {
        guard !isFile else {
            let name = folder.names.first { $0.hasSuffix(".kept") }
            return name.flatMap { PartFile.size(of: folder.url.appending(path: $0).path) }.map { Int($0) } ?? 0
        }
        return Int((try? temporary.rows("body")) ?? 0) * CacheTable.chunkSize
    }

    @Test(arguments: [false, true], [false, true])
    func `is continued within 256 KiB of the received bytes`(isFile: Bool, isSealed: Bool)
        async throws
    {
        let sent = Guarded(Sent())
        let server = try Self.server(sent)
        let file = folder.url.appending(path: "cities.zip")
        let arguments =
            [isSealed ? "download-sealed" : "download", temporary.directory.path, server.base]
            + (isFile ? [file.path] : [])
        var received = 0
        for room in [700_000, 3_300_000] {
            sent.withLock { $0.room = room }
            let start = received
            received = start + room
            let process = try ChildProcess(BuiltTool("StoreHammer").url, arguments)
            // A part file in clear may be longer than its contents.
            let least = isFile && !isSealed ? received : received - Self.step
            await untilTrue { written(isFile: isFile) >= least }
            process.kill(after: .nanoseconds(0))
            #expect(await process.ended() == .killed(by: SIGKILL))
            sent.withLock { $0.room = 0 }
            if isSealed {
                let names = folder.names
                let parts = try names.map { try Data(contentsOf: folder.url.appending(path: $0)) }
                let bytes = try parts.reduce(temporary.bytes(), +)
                #expect(bytes.firstRange(of: Self.body.prefix(32)) == nil)
            }
            received = try await self.start(isAtLeast: received - Self.step, arguments, sent)
        }
        sent.withLock { $0.room = .max >> 1 }
        let process = try ChildProcess(BuiltTool("StoreHammer").url, arguments)
        #expect(await process.ended() == .exited(0))
        #expect(sent.withLock { $0.starts.last } == received)
        if isFile { #expect(try Data(contentsOf: file) == Self.body && folder.names == ["cities.zip"]) }
        #expect(try temporary.rows("entry WHERE is_partial") == 0 && temporary.rows("download") == 0)
    }

    /// Returns the first byte that the next process requests. It receives nothing, and is killed.
    private func start(isAtLeast least: Int, _ arguments: [String], _ sent: Guarded<Sent>) async throws -> Int {
        let count = sent.withLock { $0.starts.count }
        let process = try ChildProcess(BuiltTool("StoreHammer").url, arguments)
        await untilTrue { sent.withLock { $0.starts.count } > count }
        process.kill(after: .nanoseconds(0))
        _ = await process.ended()
        let start = sent.withLock { $0.starts.last } ?? 0
        #expect(start >= least && start <= Self.body.count)
        return start
    }
}
