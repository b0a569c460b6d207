#if Curl && os(Linux)
import Diamond
import DiamondTestSupport
import Foundation
import Testing

@Suite("The executor of a transport", .limit(minutes: 5)) struct CurlExecutorTests {
    @Test func `a transport's executor runs tasks on the thread of the exchanges, before and after a wait`()
        async throws
    {
        let server = try await SampleServer.shared
        let transport = CurlTransport()
        let names = try await Task(executorPreference: transport.executor) {
            let before = ProcessUsage.threadName
            let body = try await transport.get(server.url("wire/bytes/1000")).body
            #expect(body.count == 1000)
            return [before, ProcessUsage.threadName]
        }.value
        #expect(names == ["diamond.curl", "diamond.curl"])
        await transport.close()
    }

    @Test func `a transport's executor runs many tasks that send and yield`() async throws {
        let server = try await SampleServer.shared
        let transport = CurlTransport()
        let total = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<64 {
                group.addTask(executorPreference: transport.executor) {
                    await Task.yield()
                    return try await transport.get(server.url("wire/bytes/100")).body.count
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(total == 6400)
        await transport.close()
    }

    @Test func `a transport's executor lets exchanges go on during a task that only yields`() async throws {
        let server = try await SampleServer.shared
        let (transport, isOver) = (CurlTransport(), Gate())
        let busy = Task(executorPreference: transport.executor) { while !isOver.isOpen { await Task.yield() } }
        #expect(try await transport.get(server.url("wire/bytes/1000")).body.count == 1000)
        isOver.open()
        await busy.value
        await transport.close()
    }

    @Test func `a transport's executor runs its tasks elsewhere once the transport is closed`() async throws {
        let server = try await SampleServer.shared
        let transport = CurlTransport()
        let isClosed = Gate()
        let late = Task(executorPreference: transport.executor) {
            await isClosed.wait()
            return await transport.failure(of: TransportRequest(url: server.url("wire/status/204")))?.code
        }
        await transport.close()
        isClosed.open()
        #expect(await late.value == .closed)
        let unused = CurlTransport()
        await unused.close()
        #expect(await Task(executorPreference: unused.executor) { 1 }.value == 1)
    }

    @Test func `a transport's executor runs a task after its transport was released without close`() async throws {
        var transport: CurlTransport? = CurlTransport()
        let isFreed = Gate()
        let task = Task(executorPreference: transport?.executor) {
            await isFreed.wait()
            return 1
        }
        transport = nil
        isFreed.open()
        #expect(await task.value == 1)
    }
}
#endif
