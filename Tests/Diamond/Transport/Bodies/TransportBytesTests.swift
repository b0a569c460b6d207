import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// The bytes of a server's values are sent back unchanged, or not at all.
@Suite("Bytes that return to a server", .limit(minutes: 5)) struct TransportBytesTests {
    /// A server that answers with one field, as bytes, and records the heads of requests.
    private final class RecordingServer: Sendable {
        let heads = Guarded<[[UInt8]]>([])

        func server(_ field: [UInt8], status: String = "200 OK") throws -> RawServer {
            try RawServer { [heads] connection in
                guard let head = connection.readHeadBytes() else { return }
                let isFirst = heads.withLock { all in
                    all.append(head)
                    return all.count == 1
                }
                let line = isFirst ? status : "200 OK"
                connection.write(
                    Array("HTTP/1.1 \(line)\r\nContent-Length: 4\r\nConnection: close\r\n".utf8) + field
                        + Array("\r\n\r\nbody".utf8))
            }
        }

        func values(of name: String) -> [[UInt8]] {
            heads.withLock { $0 }.flatMap { head in
                head.split(separator: 0x0A).filter { String(decoding: $0, as: UTF8.self).hasPrefix(name + ":") }
                    .map { Array($0.dropFirst(name.utf8.count + 2).dropLast()) }
            }
        }
    }

    private let temporary = TemporaryStore()
    private static let raw: [[UInt8]] = [[0xE9], [0xC3, 0xA9], [0xC3], [0x80, 0xFF], [0x61]]

    @Test(arguments: TransportKind.allCases, raw)
    func `an entity tag is sent back byte for byte, or is not used as a validator`(kind: TransportKind, tag: [UInt8])
        async throws
    {
        let asked = RecordingServer()
        let tag = [0x22] + tag + [0x22]
        let server = try asked.server(Array("ETag: ".utf8) + tag)
        // Also across a restart.
        for _ in 0..<2 {
            let engine = temporary.engine(kind.make()) { $0.cookies = nil }
            _ = try? await engine.send(Request(server.base + "/"))
            await engine.close()
        }
        let isASCII = tag.allSatisfy { $0 < 0x80 }
        #expect(asked.values(of: "If-None-Match") == (isASCII ? [tag] : []))
        #expect(asked.heads.withLock { $0.count } == 2 || !isASCII)
    }

    @Test(arguments: TransportKind.allCases, raw)
    func `a date is sent back byte for byte, or is not used as a validator`(kind: TransportKind, date: [UInt8])
        async throws
    {
        let asked = RecordingServer()
        let server = try asked.server(Array("Last-Modified: ".utf8) + date)
        let engine = temporary.engine(kind.make()) { $0.cookies = nil }
        for _ in 0..<2 { _ = try? await engine.send(Request(server.base + "/")) }
        await engine.close()
        let isASCII = date.allSatisfy { $0 < 0x80 }
        #expect(asked.values(of: "If-Modified-Since") == (isASCII ? [date] : []))
    }

    #if Curl && os(Linux)
    @Test(arguments: raw) func `a cookie is sent back byte for byte`(value: [UInt8]) async throws {
        let asked = RecordingServer()
        let server = try asked.server(Array("Set-Cookie: a=".utf8) + value + Array("; Path=/".utf8))
        let engine = temporary.engine(CurlTransport()) { $0.cookies = CookieJar() }
        for _ in 0..<2 { _ = try await engine.send(Request(server.base + "/")) }
        await engine.close()
        #expect(asked.values(of: "Cookie") == [Array("a=".utf8) + value])
    }

    @Test(arguments: [([0xE9], "/caf%E9"), ([0xC3, 0xA9], "/caf%C3%A9"), ([0x65], "/cafe")] as [([UInt8], String)])
    func `the path of a redirect is sent back byte for byte`(bytes: [UInt8], path: String) async throws {
        let asked = RecordingServer()
        let server = try asked.server(Array("Location: /caf".utf8) + bytes, status: "302 Found")
        let engine = temporary.engine(CurlTransport())
        let response = try await engine.send(Request(server.base + "/"))
        await engine.close()
        #expect(response.url == server.base + path)
        let line = asked.heads.withLock { $0.last.map { String(decoding: $0, as: UTF8.self) } }
        #expect(line?.hasPrefix("GET \(path) ") == true)
    }
    #endif

    @Test func `a partial body is not resumed with an entity tag outside ASCII`() {
        let headers: HTTPFields = [.eTag: "\"\u{e9}\"", .contentLength: "10"]
        #expect(PartialContent(status: 200, headers: headers, now: 0) == nil)
        #expect(PartialContent(status: 200, headers: [.eTag: "\"e\"", .contentLength: "10"], now: 0) != nil)
    }

    @Test(arguments: TransportKind.allCases)
    func `bytes that are no UTF-8 are sent unchanged, or their field is left out`(kind: TransportKind) async throws {
        let asked = RecordingServer()
        let server = try asked.server(Array("X-Name: a".utf8))
        let transport = kind.make()
        var headers = HTTPFields([HTTPField(name: .ifMatch, lenientValue: [0x22, 0xE9, 0x22])])
        headers[.xName] = "é"
        _ = try await transport.send(TransportRequest(url: server.base + "/", headers: headers)).body.collect()
        await transport.close()
        let isCurl = "\(kind)" == "curl"
        #expect(asked.values(of: "If-Match") == (isCurl ? [[0x22, 0xE9, 0x22]] : []))
        #expect(asked.values(of: HTTPField.Name.xName.rawName) == [Array("é".utf8)])
    }
}
