import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A canceled wait for a connection", .limit(minutes: 5)) struct CanceledWaitTests {
    private let server = ManualServer()

    private func engine() -> Engine { .stub(server.transport) }

    private func wait(
        for connection: Connection,
        with effect: CanceledWait = .cancelIfAlone
    ) -> Task<Result<Response, ConnectionError>, Never> {
        Task {
            await Result { () async throws(ConnectionError) in
                try await connection.response(whenCanceled: effect)
            }
        }
    }

    private func code(of task: Task<Result<Response, ConnectionError>, Never>) async -> ConnectionError.Code? {
        if case .failure(let error) = await task.value { error.code } else { nil }
    }

    @Test(arguments: [CanceledWait.cancelIfAlone, .leave])
    func `ends at once, and leaves the connection to another task`(effect: CanceledWait) async throws {
        let connection = engine().start(Request("http://h/"))
        let (first, second) = (wait(for: connection, with: effect), wait(for: connection))
        await untilTrue { server.flying.count == 1 && connection.core.withLock { $0.waiters.count == 2 } }
        first.cancel()
        #expect(await code(of: first) == .cancelled)
        #expect(!connection.isCancelled)
        server.landAll()
        #expect(try await second.value.get().status == .ok)
    }

    @Test func `a canceled wait of the last task cancels the connection`() async throws {
        let connection = engine().start(Request("http://h/"))
        let (first, second) = (wait(for: connection), wait(for: connection))
        await untilTrue { server.flying.count == 1 && connection.core.withLock { $0.waiters.count == 2 } }
        first.cancel()
        #expect(await code(of: first) == .cancelled)
        second.cancel()
        #expect(await code(of: second) == .cancelled)
        await untilTrue { connection.isFinished && server.flying.isEmpty }
        #expect(connection.isCancelled)
    }

    @Test func `a canceled wait with the option cancel cancels the connection for all tasks`() async throws {
        let connection = engine().start(Request("http://h/"))
        let (first, second) = (wait(for: connection, with: .cancel), wait(for: connection))
        await untilTrue { connection.core.withLock { $0.waiters.count == 2 } }
        first.cancel()
        #expect(await code(of: first) == .cancelled)
        #expect(await code(of: second) == .cancelled)
    }

    @Test func `a canceled wait with the option leave never cancels the connection`() async throws {
        let connection = engine().start(Request("http://h/"))
        let first = wait(for: connection, with: .leave)
        await untilTrue { connection.core.withLock { $0.waiters.count == 1 } }
        first.cancel()
        #expect(await code(of: first) == .cancelled)
        await untilTrue { server.flying.count == 1 }
        server.landAll()
        #expect(try await connection.response.status == .ok)
    }

    @Test(arguments: [CanceledWait.cancelIfAlone, .cancel, .leave])
    func `a wait in a task canceled before has the effect of a canceled wait`(effect: CanceledWait) async throws {
        let connection = engine().connection(for: Request("http://h/"))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await Result { () async throws(ConnectionError) in
                try await connection.response(whenCanceled: effect)
            }
        }
        #expect(await code(of: task) == .cancelled)
        #expect(connection.isCancelled == (effect != .leave))
    }

    @Test func `random cancellations of waits resume each task, and only the last cancels the connection`()
        async throws
    {
        for seed in 0..<50 {
            var random = SplitMix(state: UInt64(seed))
            let connection = engine().start(Request("http://h/\(seed)"))
            let tasks = (0..<8).map { _ in wait(for: connection) }
            await untilTrue { connection.core.withLock { $0.waiters.count == 8 } }
            let kept = seed.isMultiple(of: 2) ? Int.random(in: 0..<8, using: &random) : nil
            for index in (0..<8).shuffled(using: &random) where index != kept { tasks[index].cancel() }
            for index in 0..<8 where index != kept { #expect(await code(of: tasks[index]) == .cancelled) }
            if let kept {
                await untilTrue { server.flying.count == 1 }
                server.landAll()
                #expect(try await tasks[kept].value.get().status == .ok)
            } else {
                await untilTrue { connection.isFinished }
                #expect(connection.isCancelled)
            }
        }
    }
}
