import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("A download whose process is killed", .limit(minutes: 10)) struct KilledDownloadTests {
    private let temporary = TemporaryStore()
    private let folder = TemporaryFolder()
    private var file: URL { folder.url.appending(path: "cities.zip") }

    /// The body that the server has now, and how far it sends it.
    private struct Site: Sendable {
        var version: UInt64 = 1
        /// The bytes of one response, after which it stands still.
        var room = 0
        /// The first bytes of the responses.
        var starts: [Int] = []

        static func body(_ version: UInt64) -> Data { .noise(24 << 20, seed: version) }
    }

    private static func server(_ site: Guarded<Site>) throws -> RawServer {
        try RawServer { connection in
            guard let head = connection.readHead() else { return }
            let (version, room) = site.withLock { ($0.version, $0.room) }
            let body = Site.body(version)
            let tag = "\"\(version)\""
            let isContinued = head.contains(tag)
            let match = head.firstMatch(of: /[Rr]ange: bytes=([0-9]+)-/).flatMap { Int($0.1) }
            let start = isContinued ? match ?? 0 : 0
            site.withLock { $0.starts.append(start) }
            let status = start > 0 ? "206 Partial Content" : "200 OK"
            let range = start > 0 ? "Content-Range: bytes \(start)-\(body.count - 1)/\(body.count)\r\n" : ""
            connection.write(
                "HTTP/1.1 \(status)\r\nETag: \(tag)\r\nContent-Length: \(body.count - start)\r\n\(range)"
                    + "Connection: close\r\n\r\n")
            // Only the last response is sent to its end: a process may continue after more bytes than are recorded.
            let rest = body.count - start
            let sent = room > body.count ? rest : min(room, rest - 1)
            connection.write(Array(body.dropFirst(start).prefix(sent)))
            if sent < rest { _ = connection.readRest() }
        }
    }

    /// The download that is recorded; `nil` if there is none.
    private func recorded() -> (version: UInt64?, size: Int)? {
        let downloads = (try? Cache(temporary.store, create: false).downloads()) ?? []
        return downloads.last.map { (UInt64($0.headers[.eTag]?.dropFirst().dropLast() ?? ""), $0.size) }
    }

    /// The number of bytes that the next process at least need not receive. The file may have more of them.
    private func start(of version: UInt64) -> Int {
        guard let recorded = recorded(), recorded.version == version else { return 0 }
        return recorded.size
    }

    @Test func `is continued by the next process, and no incomplete file has its name`() async throws {
        let site = Guarded(Site())
        let server = try Self.server(site)
        var random = SplitMix(state: Effort.seed)
        var kills = 0
        for _ in 0..<Effort.rounds(1, soaking: 30) {
            try? FileManager.default.removeItem(at: file)
            var isLast = false
            while !isLast {
                if random.below(4) == 0 { site.withLock { $0.version += 1 } }
                let version = site.withLock { $0.version }
                let start = start(of: version)
                let isKnown = recorded()?.version == version
                isLast = start > 16 << 20
                let room = isLast ? .max >> 1 : (5 << 20) + random.below(3 << 20)
                let count = site.withLock { site in
                    site.room = room
                    return site.starts.count
                }
                let process = try ChildProcess(
                    BuiltTool("StoreHammer").url,
                    ["download", temporary.directory.path, server.base, file.path])
                if !isLast {
                    await untilTrue { site.withLock { $0.starts.count } > count }
                    if random.below(4) > 0 { await untilTrue { self.start(of: version) > start } }
                    process.kill(after: .milliseconds(.random(in: 0...20, using: &random)))
                    kills += 1
                }
                let ending = await process.ended()
                #expect(ending == (isLast ? .exited(0) : .killed(by: SIGKILL)), "DIAMOND_SEED=\(Effort.seed)")
                let starts = site.withLock { $0.starts.dropFirst(count) }
                #expect(starts.count == 1 && starts.allSatisfy { $0 >= start }, "DIAMOND_SEED=\(Effort.seed)")
                #expect(start > 0 || isKnown || starts == [0], "DIAMOND_SEED=\(Effort.seed)")
                #expect(FileManager.default.fileExists(atPath: file.path) == isLast)
            }
            #expect(try Data(contentsOf: file) == Site.body(site.withLock { $0.version }))
            #expect(folder.names == ["cities.zip"] && recorded() == nil)
        }
        #expect(kills > 1)
        #expect(try temporary.integrity() == "ok")
    }
}
