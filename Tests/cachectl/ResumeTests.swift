import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite(.timeLimit(.minutes(5))) struct `A transfer whose process is killed` {
    private let cachectl = Shell()
    private static let body = Array(Data((0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }))

    /// Stands still in the middle of its first answer; gives the rest, then, to whoever asks for it.
    private static func server(_ heads: Guarded<[String]>) throws -> RawServer {
        try RawServer { connection in
            guard let head = connection.readHead() else { return }
            let number = heads.withLock { heads in
                heads.append(head)
                return heads.count
            }
            let first = head.firstMatch(of: /[Rr]ange: bytes=([0-9]+)-/).flatMap { Int($0.1) } ?? 0
            let status =
                first == 0
                ? "200 OK" : "206 Partial Content\r\nContent-Range: bytes \(first)-\(body.count - 1)/\(body.count)"
            connection.write(
                "HTTP/1.1 \(status)\r\nETag: \"1\"\r\nContent-Length: \(body.count - first)\r\n"
                    + "Cache-Control: max-age=60\r\n\r\n")
            guard number > 1 else {
                connection.write(Array(body.prefix(3_000_000)))
                return _ = connection.readRest()
            }
            connection.write(Array(body.dropFirst(first)))
        }
    }

    @Test func `is gone on with by the next one`() async throws {
        let heads = Guarded<[String]>([])
        let server = try Self.server(heads)
        let process = try ChildProcess(
            BuiltTool("cachectl").url,
            // However long it takes until what has come is seen in the store.
            ["send", "\(server.base)/large", "--timeout", "3600"],
            environment: ["DIAMOND_STORE": cachectl.temporary.directory.path],
            output: .null,
            errors: .null
        )
        await untilStored()
        process.kill()
        #expect(await process.ended() == .killed(by: SIGKILL))
        let outcome = try await cachectl("send", "\(server.base)/large")
        #expect(outcome.status == 0 && outcome.output == Data(Self.body))
        let last = try #require(heads.withLock { $0.last })
        let first = try #require(last.firstMatch(of: /[Rr]ange: bytes=([0-9]+)-/).flatMap { Int($0.1) })
        #expect(first >= 1 << 20 && first <= 3_000_000 && last.contains("\"1\""))
        let again = try await cachectl("send", "\(server.base)/large", "--policy", "cacheOnly")
        #expect(again.status == 0 && again.output == Data(Self.body))
        #expect(heads.withLock { $0.count } == 2)
        let cache = try Cache(cachectl.temporary.store)
        #expect(try cache.totals().partials == 0 && cachectl.temporary.integrity() == "ok")
    }

    /// Returns when a part of the answer is in the store.
    private func untilStored() async {
        var cache: Cache?
        while (try? cache?.totals().partials) != 1 {
            cache = cache ?? (try? Cache(cachectl.temporary.store, create: false))
            await Task.yield()
        }
    }
}
