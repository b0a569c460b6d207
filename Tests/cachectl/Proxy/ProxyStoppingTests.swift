import DiamondTestSupport
import Foundation
import Testing

@Suite("cachectl proxy stops", .limit(minutes: 5)) struct ProxyStoppingTests {
    @Test(arguments: [SIGTERM, SIGINT])
    func `at a signal, after the running requests have ended, and logs each request`(signal: Int32) async throws {
        let (arrived, next) = (Gate(), DispatchSemaphore(value: 0))
        let origin = try ScriptedOrigin { request in
            if request.target.hasPrefix("/slow") {
                arrived.open()
                next.wait()
            }
            return ScriptedOrigin.response("200 OK", "Cache-Control: max-age=60", body: "whole")
        }
        let proxy = try await RunningProxy(origin.base)
        let idle = try proxy.client(sending: "GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(await idle.read(through: "whole").hasSuffix("whole"))
        let slow = try proxy.client(sending: "GET /slow?token=secret HTTP/1.1\r\nHost: x\r\n\r\n")
        await arrived.wait()
        proxy.signal(signal)
        // The idle connection is closed at once.
        #expect(await idle.read().isEmpty)
        next.signal()
        let answer = RawAnswer(await slow.read())
        #expect(answer.body == "whole" && answer.values("Connection") == ["close"], "\(answer.head)")
        let (ending, log) = await proxy.ended()
        #expect(ending == .exited(0))
        #expect(log.count == 2 && log[1].contains("/slow?token=••• 200 5 network"), "\(log)")
        #expect(!log.joined().contains("secret"))
    }

    @Test func `10 seconds after a signal, even if requests have not ended`() async throws {
        let arrived = Gate()
        let origin = try RawServer { connection in
            _ = connection.readHead()
            arrived.open()
            _ = connection.readRest()
        }
        let proxy = try await RunningProxy(origin.base)
        let client = try proxy.client(sending: "GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
        await arrived.wait()
        let start = ContinuousClock.now
        proxy.signal(SIGTERM)
        #expect(await client.read().isEmpty)
        #expect(await proxy.ended().ending == .exited(0))
        #expect(ContinuousClock.now - start < .seconds(20))
    }
}
