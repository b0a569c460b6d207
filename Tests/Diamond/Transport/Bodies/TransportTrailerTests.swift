import DiamondTestSupport
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("The trailers of a body", .limit(minutes: 5)) struct TransportTrailerTests {
    private static let body = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n"

    @Test(arguments: TransportKind.allCases, [1, 99])
    func `trailers are ignored`(kind: TransportKind, count: Int) async throws {
        let server = try RawServer(answering: Self.body + String(repeating: "X: y\r\n", count: count) + "\r\n")
        try await kind.run { transport, _ in
            try await kind.withShortcoming(.trailers, isHanging: true) {
                let (head, body) = try await transport.get(server.base)
                #expect(String(decoding: body, as: UTF8.self) == "hello" && head.headers[.xName] == nil)
            }
        }
    }

    @Test(
        arguments: TransportKind.allCases,
        [String(repeating: "X: y\r\n", count: 5000), "X: " + String(repeating: "y", count: 500_000) + "\r\n"])
    func `trailers larger than any legitimate ones are an error`(kind: TransportKind, trailers: String) async throws {
        let server = try RawServer(answering: Self.body + trailers + "\r\n")
        try await kind.run { transport, _ in
            await kind.withShortcoming(.trailers, isHanging: true) {
                let error = await transport.failure(of: TransportRequest(url: server.base))
                #expect(error?.code == .badResponse && error?.serverMayHaveActed == true)
                #expect(error?.message.contains("trailers") == true)
            }
        }
    }

    #if Curl && os(Linux)
    @Test func `the deadline of trailers begins with the first trailer field, even without a timeout`() {
        let loop = CurlLoop(.standard)
        let transfer = CurlTransfer(TransportRequest(url: "http://h/"), passwords: TransportPasswords(), loop: loop)
        #expect(transfer.deadline == nil)
        #expect(transfer.addTrailer(byteCount: 6))
        let first = transfer.deadline
        #expect(first.map { $0 <= .now + HeadLimit.trailerTime } == true)
        #expect(transfer.addTrailer(byteCount: 6) && transfer.deadline == first)
    }
    #endif
}
