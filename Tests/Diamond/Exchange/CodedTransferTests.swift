import DiamondSQLite
import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A response with a content coding", .limit(minutes: 5)) struct CodedTransferTests {
    /// How the body is received.
    enum Reception: CaseIterable { case collected, streamed, downloaded, written }

    /// Returns a transport that counts requests, and answers each with half of a coded body that may be stored.
    private func cut(_ count: Guarded<Int>, _ framing: String) throws -> RawServer {
        let bytes = CodedBody.all[0].bytes.dropLast(9)
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nCache-Control: max-age=600\r\n\(framing)\r\n\r\n"
        return try RawServer { connection in
            guard connection.readHead() != nil else { return }
            count.withLock { $0 += 1 }
            let isChunked = framing.hasSuffix("chunked")
            connection.write(Array((head + (isChunked ? "\(String(bytes.count, radix: 16))\r\n" : "")).utf8) + bytes)
            if isChunked { connection.write("\r\n0\r\n\r\n") }
        }
    }

    private func receive(_ request: Request, _ reception: Reception, from engine: Engine, in folder: URL) async throws {
        switch reception {
        case .collected: _ = try await engine.send(request)
        case .streamed: for try await _ in try await engine.stream(request).bytes {}
        case .downloaded: _ = try await engine.download(request, to: folder.appendingPathComponent("file"))
        case .written: _ = try await engine.download(request, to: BodyRecorder())
        }
    }

    @Test(
        arguments: TransportKind.allCases,
        Reception.allCases.flatMap { reception in
            ["Content-Length: 17", "Transfer-Encoding: chunked", "Connection: close"].map { (reception, $0) }
        })
    func `a truncated coded response is a failure, and is not stored`(kind: TransportKind, way: (Reception, String))
        async throws
    {
        let (folder, count) = (TemporaryFolder(), Guarded(0))
        let server = try cut(count, way.1)
        let engine = Engine.timeless {
            $0.transport = kind.make()
            $0.store = Store(directory: folder.url)
        }
        var request = Request(server.base)
        request.retry = .never
        for round in 1...2 {
            let error = await #expect(throws: ConnectionError.self) {
                try await receive(request, way.0, from: engine, in: folder.url)
            }
            kind.withShortcoming(.refusedCoding) {
                #expect((error?.cause as? TransportError)?.code == .truncatedBody)
            }
            #expect(count.withLock { $0 } == round)
        }
        await engine.close()
    }

    @Test(arguments: [nil, "identity", "gzip"])
    func `an unknown content coding is reported, unless the request asks for a coding`(asked: String?) async throws {
        let server = try RawServer(
            answering: "HTTP/1.1 200 OK\r\nContent-Encoding: utf-8\r\nContent-Length: 2\r\n\r\n{}")
        let engine = Engine.timeless { _ in }
        let told = Guarded<[String]>([])
        let observation = engine.activity.observe { event in
            if case .unknownContentCoding(let coding, let origin) = event {
                told.withLock { $0.append("\(coding) \(origin)") }
            }
        }
        var request = Request(server.base)
        request.headers[.acceptEncoding] = asked
        let response = try await engine.send(request)
        #expect(response.text == "{}" && response.headers[.contentEncoding] == "utf-8")
        #expect(told.withLock { $0 } == (asked == "gzip" ? [] : ["utf-8 \(server.base)"]))
        withExtendedLifetime(observation) {}
        await engine.close()
    }
}
