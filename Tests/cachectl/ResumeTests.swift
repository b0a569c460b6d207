import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("A transfer whose process is killed", .limit(minutes: 5)) struct ResumeTests {
    private let cachectl = Shell()
    private static let bytes = Array(Data((0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }))

    /// The server's response to a range request for the rest.
    enum Rest: CaseIterable {
        case rest, whole, changed, unsatisfiable, otherPart

        /// Whether the client then requests the whole body.
        var isRefused: Bool { self == .unsatisfiable || self == .otherPart }

        var body: [UInt8] { self == .changed ? bytes.reversed() : bytes }

        fileprivate func answer(from first: Int) -> (head: String, body: [UInt8]) {
            switch self {
            case .rest: (Self.part(first...body.count - 1), Array(body.dropFirst(first)))
            case .whole: ("200 OK\r\nETag: \"1\"", body)
            case .changed: ("200 OK\r\nETag: \"2\"", body)
            case .unsatisfiable: ("416 Range Not Satisfiable\r\nContent-Range: bytes */100", [])
            case .otherPart: (Self.part(0...99), Array(body.prefix(100)))
            }
        }

        private static func part(_ range: ClosedRange<Int>) -> String {
            let place = "bytes \(range.lowerBound)-\(range.upperBound)/\(bytes.count)"
            return "206 Partial Content\r\nContent-Range: \(place)\r\nETag: \"1\""
        }
    }

    /// Returns a server that stops in the middle of its first response.
    private static func server(_ rest: Rest, _ heads: Guarded<[String]>) throws -> RawServer {
        try RawServer { connection in
            guard let head = connection.readHead() else { return }
            let number = heads.withLock { heads in
                heads.append(head)
                return heads.count
            }
            let answer = begin(of: head).map(rest.answer) ?? Rest.whole.answer(from: 0)
            connection.write(
                "HTTP/1.1 \(answer.head)\r\nContent-Length: \(answer.body.count)\r\n"
                    + "Cache-Control: max-age=60\r\nConnection: close\r\n\r\n")
            guard number > 1 else {
                connection.write(Array(answer.body.prefix(3_000_000)))
                return _ = connection.readRest()
            }
            connection.write(answer.body)
        }
    }

    /// Returns the first byte that a request asks for; `nil` for the whole body.
    private static func begin(of head: String) -> Int? {
        head.firstMatch(of: /[Rr]ange: bytes=([0-9]+)-/).flatMap { Int($0.1) }
    }

    @Test(arguments: Rest.allCases) func `is resumed by the next process`(rest: Rest) async throws {
        let heads = Guarded<[String]>([])
        let server = try Self.server(rest, heads)
        let process = try ChildProcess(
            BuiltTool("cachectl").url,
            // Longer than it takes until the received bytes are in the store.
            ["send", "\(server.base)/large", "--timeout", "3600"],
            environment: ["DIAMOND_STORE": cachectl.temporary.directory.path],
            output: .null,
            errors: .null
        )
        await untilStored()
        process.kill()
        #expect(await process.ended() == .killed(by: SIGKILL))
        let outcome = try await cachectl("send", "\(server.base)/large")
        #expect(outcome.status == 0 && outcome.output == Data(rest.body))
        let second = try #require(heads.withLock { $0.dropFirst().first })
        let first = try #require(Self.begin(of: second))
        #expect(first >= 256 << 10 && first <= 3_000_000 && second.contains("\"1\""))
        let again = try await cachectl("send", "\(server.base)/large", "--policy", "cacheOnly")
        #expect(again.status == 0 && again.output == Data(rest.body))
        let asked: [Int?] = rest.isRefused ? [nil, first, nil] : [nil, first]
        #expect(heads.withLock { $0.map(Self.begin) } == asked)
        let cache = try Cache(cachectl.temporary.store)
        #expect(try cache.totals().partials == 0 && cachectl.temporary.integrity() == "ok")
    }

    /// Returns when a part of the response is in the store.
    private func untilStored() async {
        var cache: Cache?
        await untilTrue {
            cache = cache ?? (try? Cache(cachectl.temporary.store, create: false))
            return (try? cache?.totals().partials) == 1
        }
    }
}
