import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

private let groups = HTTPField.Name("Cache-Groups") ?? .cacheControl
private let invalidation = HTTPField.Name("Cache-Group-Invalidation") ?? .cacheControl

@Suite("RFC 9875 section 3", .limit(minutes: 5)) struct EngineGroupTests {
    private static let stored = ["http://h/a", "http://h/b?x=1", "http://h/c", "http://h/none", "http://h:81/a"]
    private let temporary = TemporaryStore()

    private static func value(of url: String) -> String? {
        switch url {
        case "http://h/a", "http://h:81/a": "\"one\", \"two\""
        case "http://h/b?x=1": "\"two\";a"
        case "http://h/c": "\"Three\""
        default: nil
        }
    }

    /// An engine over a server that answers other methods than GET with these fields.
    private func engine(status: Int = 200, _ headers: HTTPFields) -> Engine {
        temporary.engine(
            StubTransport { request throws(TransportError) in
                guard request.method == .get else { return .stub(status: status, headers: headers) }
                var fields: HTTPFields = [.cacheControl: "max-age=60"]
                fields[groups] = Self.value(of: request.url)
                return .stub(headers: fields)
            })
    }

    /// Returns the stored URLs that are requested again after a request.
    private func asked(_ engine: Engine, after request: Request) async throws -> [String] {
        for url in Self.stored { _ = try await engine.send(Request(url, cache: .automatic)) }
        _ = try await engine.send(request)
        var asked: [String] = []
        for url in Self.stored where try await engine.send(Request(url)).source == .network { asked.append(url) }
        await engine.close()
        return asked
    }

    @Test(
        arguments: [
            ("\"one\"", ["http://h/a"]), ("\"two\"", ["http://h/a", "http://h/b?x=1"]),
            ("\"one\", \"Three\"", ["http://h/a", "http://h/c"]), ("\"three\"", []), ("two", []), ("", []),
        ] as [(String, [String])])
    func `an unsafe method invalidates the groups that its response names, within its origin`(
        value: String, expected: [String]
    ) async throws {
        #expect(try await asked(engine([invalidation: value]), after: Request("http://h/z", method: .post)) == expected)
    }

    @Test(arguments: [(HTTPRequest.Method.options, 200), (.head, 200), (.post, 400), (.post, 500)])
    func `a safe method and an error invalidate no group`(method: HTTPRequest.Method, status: Int) async throws {
        let engine = engine(status: status, [invalidation: "\"one\""])
        #expect(try await asked(engine, after: Request("http://h/z", method: method)).isEmpty)
    }

    @Test func `groups that a confirmation adds are invalidated`() async throws {
        let count = Guarded(0)
        let transport = StubTransport { request throws(TransportError) in
            guard request.method == .get else { return .stub(headers: [invalidation: "\"new\""]) }
            guard request.headers[.ifNoneMatch] != nil else {
                count.withLock { $0 += 1 }
                return .stub(headers: [.cacheControl: "max-age=60", .eTag: "\"1\""])
            }
            return .stub(status: 304, headers: [.eTag: "\"1\"", groups: "\"new\""])
        }
        let engine = temporary.engine(transport)
        let request = Request("http://h/")
        _ = try await engine.send(request)
        #expect(try await engine.send(Request("http://h/", cache: .revalidate)).source == .revalidated)
        _ = try await engine.send(Request("http://h/z", method: .put))
        #expect(try await engine.send(request).source == .revalidated)
        await engine.close()
    }

    @Test func `a response under way is stored as stale if its group was invalidated`() async throws {
        let server = ManualServer()
        server.headers = [.cacheControl: "max-age=60", groups: "\"one\"", invalidation: "\"one\""]
        let engine = temporary.engine(server.transport)
        let get = Task { try await engine.send(Request("http://h/")) }
        await untilTrue { server.flying.count == 1 }
        let post = Task { try await engine.send(Request("http://h/z", method: .post)) }
        await untilTrue { server.flying.count == 2 }
        server.land("http://h/z")
        _ = try await post.value
        server.land("http://h/")
        _ = try await get.value
        let again = Task { try await engine.send(Request("http://h/")) }
        await untilTrue { server.flying.count == 1 }
        server.landAll()
        #expect(try await again.value.source == .network)
        await engine.close()
    }
}
