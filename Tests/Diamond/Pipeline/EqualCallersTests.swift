import DiamondTestSupport
import DiamondTesting
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Callers of equal requests", .limit(minutes: 5)) struct EqualCallersTests {
    private let temporary = TemporaryStore()
    private let callers = JoinedCallers()

    /// Sends a request for several callers, and returns when all wait.
    private func send(_ count: Int, over engine: Engine) async -> [Task<Response, any Error>] {
        let before = callers.count
        let tasks = (0..<count).map { _ in Task { try await engine.send(Request("http://h/")) } }
        await callers.reach(before + count)
        return tasks
    }

    @Test func `share one request, and one validation`() async throws {
        let transport = StubTransport { request in
            let headers: HTTPFields = [.cacheControl: "no-cache", .eTag: "\"a\""]
            return request.headers[.ifNoneMatch] == nil ? .stub(headers: headers) : .stub(status: 304, headers: headers)
        }
        let engine = temporary.engine(transport)
        callers.watch(engine)
        for round in 1...2 {
            engine.lanes.pauseAll()
            let tasks = await send(50, over: engine)
            engine.lanes.resumeAll()
            for task in tasks { #expect(try await task.value.text == "body") }
            #expect(transport.requests.count == round)
        }
    }

    @Test func `do not wait again after a response that could not be shared`() async throws {
        let server = ManualServer()
        server.headers = [.cacheControl: "no-store"]
        let engine = temporary.engine(server.transport) { $0.cacheKind = .shared }
        callers.watch(engine)
        for counts in [[1, 2], [3]] {
            let tasks = await send(3, over: engine)
            for count in counts {
                await untilTrue { server.flying.count == count }
                server.landAll()
            }
            for task in tasks { #expect(try await task.value.text == "http://h/") }
        }
    }
}
