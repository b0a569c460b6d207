import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("An upload from a file", .limit(minutes: 5)) struct FileUploadTests {
    private let folder = TemporaryFolder()
    private let put = Request("http://h/", method: .put, headers: [.contentType: "text/plain"])

    private func engine(
        _ transport: any Transport,
        _ interceptors: [any Interceptor] = []
    ) -> Engine {
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = transport
        configuration.draw = { 0 }
        configuration.clock = TestClock()
        configuration.interceptors = interceptors
        return Engine(configuration)
    }

    /// Returns a transport that reads each body, and answers with these statuses; the last one is repeated.
    private func transport(_ statuses: Int..., bodies: Guarded<[String]>) -> StubTransport {
        let rest = Guarded(statuses)
        return StubTransport { request throws(TransportError) in
            guard case .stream(let length, let make) = request.body else { return .stub(status: 400) }
            let body: Data
            do throws(TransportError) { body = try await BodyStream(make()).collect() } catch {
                throw TransportError(.badRequestBody, "failed: see the cause", cause: error.cause)
            }
            bodies.withLock { $0.append("\(length ?? -1) \(String(decoding: body, as: UTF8.self))") }
            return .stub(status: rest.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] })
        }
    }

    @Test(arguments: TransportKind.allCases, [0, 1, 3_000_000])
    func `a file is sent as a whole, with its length and progress`(kind: TransportKind, count: Int) async throws {
        let file = try folder.file("data", Pattern.bytes(count: count))
        let engine = engine(kind.make())
        let seen = Guarded<[TransferProgress]>([])
        let request = Request(try await SampleServer.shared.url("wire/upload"), method: .put)
        let response = try await engine.upload(request, fromFile: file) { progress in
            seen.withLock { $0.append(progress) }
        }
        let receipt = try Receipt(response.body)
        #expect(receipt.bytes == count && receipt.checksum == Pattern.checksum(count: count))
        #expect(receipt.contentLength == count)
        let last = try #require(seen.withLock { $0.last })
        #expect(last.sent == Int64(count) && last.expectedToSend == Int64(count))
        #expect(last.fractionCompleted == 1)
        await engine.close()
    }

    @Test func `every attempt sends the file from its start`() async throws {
        let file = try folder.file("data", Data("abc".utf8))
        let bodies = Guarded<[String]>([])
        let engine = engine(transport(503, 503, 200, bodies: bodies))
        let response = try await engine.upload(put, fromFile: file)
        #expect(response.status == .ok && response.attempts.count == 3)
        #expect(bodies.withLock { $0 } == ["3 abc", "3 abc", "3 abc"])
        await engine.close()
    }

    @Test func `the upload of a call from a file is answered with the call's output`() async throws {
        let file = try folder.file("data", Data("abc".utf8))
        let engine = engine(StubTransport(body: "[1]"))
        #expect(try await engine.upload(put.decoding([Int].self), fromFile: file) == [1])
        await engine.close()
    }

    @Test(arguments: ["missing", "."])
    func `an upload from no readable file is refused before anything is sent`(name: String) async throws {
        let transport = StubTransport()
        let engine = engine(transport)
        let file = folder.url.appending(path: name)
        let error = await #expect(throws: ConnectionError.self) { try await engine.upload(put, fromFile: file) }
        #expect(error?.code == .badRequest && (error?.cause as? RequestError)?.code == .unreadableFile)
        #expect(error?.message.contains("cannot be read: check that it is there") == true)
        #expect(transport.requests.isEmpty)
        await engine.close()
    }

    /// Changes a file before an attempt.
    private struct FileChangingInterceptor: Interceptor {
        let attempt: Int
        let change: @Sendable () throws -> Void

        func adapt(_ request: inout TransportRequest, attempt: Int) async throws {
            if attempt == self.attempt { try change() }
        }
    }

    private static let remedies = [
        (isGone: false, remedy: "changed since it was checked: send a copy that no program writes to"),
        (isGone: true, remedy: "cannot be read: check that it is there"),
    ]

    @Test(arguments: TransportKind.allCases, remedies)
    func `a file that changes while it is sent ends the upload with an error that names the remedy`(
        kind: TransportKind,
        change: (isGone: Bool, remedy: String)
    ) async throws {
        let file = try folder.file("data", Data("ten letter".utf8))
        let interceptor = FileChangingInterceptor(attempt: 1) {
            if change.isGone { return try FileManager.default.removeItem(at: file) }
            try Data("twenty other letters".utf8).write(to: file)
        }
        let engine = engine(kind.make(), [interceptor])
        let request = Request(try await SampleServer.shared.url("wire/upload"), method: .put)
        let error = await #expect(throws: ConnectionError.self) { try await engine.upload(request, fromFile: file) }
        #expect(error?.code == .badRequest && error?.message.contains(change.remedy) == true)
        #expect(((error?.cause as? TransportError)?.cause as? RequestError)?.code == .unreadableFile)
        await engine.close()
    }

    @Test func `a file that changed between two attempts is not sent again`() async throws {
        let file = try folder.file("data", Data("abc".utf8))
        let bodies = Guarded<[String]>([])
        let interceptor = FileChangingInterceptor(attempt: 2) { try Data("other".utf8).write(to: file) }
        let engine = engine(transport(503, 200, bodies: bodies), [interceptor])
        let error = await #expect(throws: ConnectionError.self) { try await engine.upload(put, fromFile: file) }
        #expect(error?.code == .badRequest && bodies.withLock { $0 } == ["3 abc"])
        await engine.close()
    }
}
