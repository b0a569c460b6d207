import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A download sink", .limit(minutes: 5)) struct DownloadSinkTests {
    typealias Answer = ScriptedServer.Answer

    private static let calls = ["begin 200", "write", "finish"]

    private func engine(_ change: (inout Engine.Configuration) -> Void = { _ in }) -> Engine { .timeless(change) }

    // MARK: Calls

    @Test(arguments: TransportKind.allCases)
    func `a sink receives a body from its start to its end, one piece after another`(kind: TransportKind) async throws {
        let server = try await SampleServer.shared
        let engine = engine { $0.transport = kind.make() }
        let (recorder, received) = (BodyRecorder(), Guarded<Int64>(0))
        let request = Request(server.url("wire/bytes/3000000"))
        let download = try await engine.download(request, to: recorder) { progress in
            received.withLock { $0 = progress.received }
        }
        #expect(recorder.calls == Self.calls && recorder.body == Pattern.bytes(count: 3_000_000))
        #expect(recorder.head?.url == request.url && recorder.head?.headers[.eTag] == download.headers[.eTag])
        #expect(download.size == 3_000_000 && download.file == nil && download.headers[.eTag] != nil)
        #expect(received.withLock { $0 } == 3_000_000)
        #expect(engine.lanes.running == 0 && engine.activity.counts.isIdle)
        await engine.close()
    }

    @Test func `a sink receives the start and the end of an empty body`() async throws {
        let engine = engine { $0.transport = StubTransport(status: 204, body: "") }
        let recorder = BodyRecorder()
        #expect(try await engine.download(Request("http://h/"), to: recorder).size == 0)
        #expect(recorder.calls == ["begin 204", "finish"])
        await engine.close()
    }

    private static let old = Answer(headers: ["Content-Length: 10", "ETag: \"a\""], body: "01234")
    private static let new = Answer(headers: ["Content-Length: 3", "ETag: \"b\""], body: "new")
    private static let rest = Answer(
        status: 206, headers: ["Content-Range: bytes 5-9/10", "ETag: \"a\"", "Content-Length: 5"], body: "56789")
    private static let busy = Answer(status: 503, headers: ["Content-Length: 0"])

    private static let unknown = Answer(headers: ["Content-Length: 10"], body: "01234")

    private static let transfers: [(answers: [Answer], calls: [String], text: String)] = [
        ([old, rest], calls, "0123456789"),
        ([old, busy, rest], calls, "0123456789"),
        // The representation has changed.
        ([old, new], ["begin 200", "write"] + calls, "new"),
        // There is no validator to resume by.
        ([unknown, new], ["begin 200", "write"] + calls, "new"),
    ]

    @Test(arguments: transfers)
    func `a sink resumes after its last byte, or begins again`(
        answers: [Answer], calls: [String], text: String
    ) async throws {
        let server = try ScriptedServer(answers)
        let engine = engine()
        let recorder = BodyRecorder()
        let download = try await engine.download(Request(server.url), to: recorder)
        #expect(recorder.calls == calls && recorder.text == text && download.size == text.utf8.count)
        #expect(download.status == .ok && server.count == answers.count)
        await engine.close()
    }

    private struct StubRefreshProvider: RefreshableCredentialProvider {
        func identity(for request: Request) async throws -> String? { "anna" }
        func secret(_ name: String, for identity: String?) async throws -> String? { "t" }
        func refreshSecrets(_ names: Set<String>, for identity: String?) async throws {}
    }

    @Test func `a sink receives nothing of the responses before the final response`() async throws {
        let steps = Guarded<[TransportResponse]>([
            .stub(status: 302, headers: [.location: "/there"]), .stub(status: 401), .stub(status: 503), .stub(),
        ])
        let transport = StubTransport { _ throws(TransportError) in steps.withLock { $0.removeFirst() } }
        let engine = engine {
            ($0.transport, $0.credentials) = (transport, StubRefreshProvider())
            $0.retry = RetryPolicy(attempts: 5)
        }
        let recorder = BodyRecorder()
        var request = Request("http://h/")
        request.credentials = [.bearer(.secret("token"))]
        _ = try await engine.download(request, to: recorder)
        #expect(recorder.calls == Self.calls && recorder.text == "body" && recorder.head?.url == "http://h/there")
        #expect(transport.requests.count == 4)
        await engine.close()
    }

    @Test func `a sink receives nothing of an error response, nor of a body that announces too many bytes`()
        async throws
    {
        let (missing, large) = (StubTransport(status: 404, body: "no"), StubTransport(headers: [.contentLength: "4"]))
        for (transport, code) in [(missing, ConnectionError.Code.badStatus), (large, .bodyTooLarge)] {
            let engine = engine { $0.transport = transport }
            let recorder = BodyRecorder()
            await #expect {
                _ = try await engine.download(Request("http://h/"), to: recorder, limit: 3)
            } throws: {
                ($0 as? ConnectionError)?.code == code
            }
            #expect(recorder.calls.isEmpty && transport.requests.count == 1)
            await engine.close()
        }
    }

    // MARK: Errors

    private struct Refusal: Error, CustomStringConvertible {
        let description = "the disk is full"
    }

    @Test(arguments: calls)
    func `a sink that throws ends the download with its error, and nothing is sent again`(call: String) async throws {
        let transport = StubTransport(headers: [.contentLength: "4", .eTag: "\"a\""])
        let engine = engine { $0.transport = transport }
        let recorder = BodyRecorder { if $0 == call { throw Refusal() } }
        await #expect { _ = try await engine.download(Request("http://h/"), to: recorder) } throws: { error in
            let error = error as? ConnectionError
            return error?.code == .cannotWrite && error?.cause is Refusal
                && error?.message.contains("the disk is full") == true
        }
        #expect(transport.requests.count == 1 && recorder.calls.last == call)
        #expect(engine.lanes.running == 0 && engine.activity.counts.isIdle)
        await engine.close()
    }

    @Test func `a sink that throws a cancellation cancels the download`() async throws {
        let engine = engine { $0.transport = StubTransport() }
        let recorder = BodyRecorder { if $0 == "write" { throw CancellationError() } }
        await #expect { _ = try await engine.download(Request("http://h/"), to: recorder) } throws: {
            ($0 as? ConnectionError)?.code == .cancelled
        }
        await engine.close()
    }

    // MARK: Hanging sinks

    @Test(arguments: calls, [false, true])
    func `a sink that does not return is not waited for after a cancel, or after the engine is closed`(
        call: String, isClosed: Bool
    ) async throws {
        let (gate, isEntered, isCanceled) = (Gate(), Guarded(false), Guarded(false))
        let recorder = BodyRecorder { now in
            guard now == call else { return }
            isEntered.withLock { $0 = true }
            // A gate that cancellation does not open.
            await withTaskCancellationHandler {
                await gate.wait()
            } onCancel: {
                isCanceled.withLock { $0 = true }
            }
        }
        let rangeServer = RangeServer()
        let engine = engine { $0.transport = rangeServer.transport }
        let download = Task { try await engine.download(Request("http://h/"), to: recorder) }
        await untilTrue { isEntered.withLock { $0 } }
        if isClosed { await engine.close() } else { download.cancel() }
        await #expect { _ = try await download.value } throws: {
            ($0 as? ConnectionError)?.code == (isClosed ? .noEngine : .cancelled)
        }
        await untilTrue { isCanceled.withLock { $0 } }
        #expect(engine.lanes.running == 0 && engine.activity.counts.isIdle && rangeServer.ranges.count == 1)
        gate.open()
        #expect(recorder.calls.last == call)
        if !isClosed { await engine.close() }
    }
}
