#if canImport(Darwin)
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

@Suite("Key-value observing of a connection", .limit(minutes: 5)) struct ConnectionObservationTests {
    @Test func `a connection reports when it is executing, and when it has finished`() async throws {
        let connection = Engine(.init(testing: StubTransport())).connection(for: Request("http://h/"))
        let told = Guarded<Set<String>>([])
        let observations = [
            connection.observe(\.isExecuting) { connection, _ in
                if connection.isExecuting { told.withLock { _ = $0.insert("executing") } }
            },
            connection.observe(\.isFinished) { connection, _ in
                if connection.isFinished { told.withLock { _ = $0.insert("finished") } }
            },
        ]
        let queue = OperationQueue()
        queue.addOperation(connection)
        _ = try await connection.response
        await untilTrue { told.withLock { $0 } == ["executing", "finished"] }
        for observation in observations { observation.invalidate() }
    }
}
#endif
