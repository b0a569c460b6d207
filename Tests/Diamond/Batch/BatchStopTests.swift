import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A batch that is stopped", .limit(minutes: 5)) struct BatchStopTests {
    private let server = ManualServer()

    private func engine() -> Engine { .stub(server.transport) }

    private func requests(_ count: Int) -> [Request] { (0..<count).map { Request("http://h/\($0)") } }

    private func flying(_ count: Int) async { await untilTrue { server.flying.count == count } }

    // MARK: Failing fast

    @Test(arguments: [
        (isFailingFast: false, isFailure: false, codes: ["200", "500", "200"]),
        (false, true, ["200", "500", "200"]),
        (true, false, ["200", "500", "200"]),
        (true, true, ["cancelled", "500", "cancelled"]),
    ]) func `a fail-fast batch is canceled by a failing status`(
        isFailingFast: Bool,
        isFailure: Bool,
        codes: [String]
    ) async {
        let (gates, failed) = (["http://h/0": Gate(), "http://h/2": Gate()], Gate())
        let engine = Engine.stub(
            StubTransport { request throws(TransportError) in
                guard let gate = gates[request.url] else { return .stub(status: 500) }
                await withTaskCancellationHandler {
                    await gate.wait()
                } onCancel: {
                    gate.open()
                }
                guard !Task.isCancelled else { throw .cancelled(serverMayHaveActed: true) }
                return .stub()
            }
        )
        var requests = requests(3)
        requests[1].retry = .never
        let batch = engine.batch(requests, isFailingFast: isFailingFast) { isFailure && $0.status.code >= 500 }
        batch.connections[1].completionBlock = { failed.open() }
        engine.start(batch)
        await failed.wait()
        if !(isFailingFast && isFailure) { for gate in gates.values { gate.open() } }
        let results = await batch.results
        #expect(results.map(\.word) == codes)
        #expect(await batch.progress.all.last?.failed == (isFailure ? (isFailingFast ? 3 : 1) : 0))
    }

    @Test func `a released fail-fast batch cancels its items when an item fails, and not before`() async {
        let engine = engine()
        let connections = requests(3).map(engine.connection(for:))
        engine.start(Batch(connections, isFailingFast: true))
        await flying(3)
        #expect(connections.allSatisfy { !$0.isCancelled })
        connections[1].cancel()
        await untilTrue { connections.allSatisfy(\.isFinished) }
        #expect(connections.allSatisfy { $0.isCancelled })
    }

    @Test func `a fail-fast batch with a canceled item cancels the others at once`() async {
        let engine = engine()
        let connections = requests(3).map(engine.connection(for:))
        connections[2].cancel()
        let batch = Batch(connections, isFailingFast: true)
        #expect(await batch.results.map(\.word) == ["cancelled", "cancelled", "cancelled"])
        #expect(connections.allSatisfy { $0.isCancelled })
    }

    // MARK: Canceling

    @Test(arguments: 0..<4) func `a canceled batch ends`(stage: Int) async {
        let engine = engine()
        let batch = engine.batch(requests(3))
        let completions = Guarded(0)
        for connection in batch.connections { connection.completionBlock = { completions.withLock { $0 += 1 } } }
        if stage > 0 { engine.start(batch) }
        if stage > 1 { await flying(3) }
        if stage > 2 { batch.pause() }
        batch.cancel()
        #expect(await batch.results.map(\.word) == ["cancelled", "cancelled", "cancelled"])
        #expect(completions.withLock { $0 } == (stage > 0 ? 3 : 0))
        engine.start(batch)
        await untilTrue { batch.connections.allSatisfy(\.isFinished) && completions.withLock { $0 } == 3 }
        #expect(batch.completed == 3)
    }

    @Test(arguments: 0..<2) func `a batch is canceled by its operation, and with the task that waits for it`(way: Int)
        async
    {
        let engine = engine()
        let batch = engine.batch(requests(2))
        engine.start(batch)
        await flying(2)
        let task = Task { await batch.results }
        if way == 0 { task.cancel() } else { batch.operation.cancel() }
        #expect(await task.value.map(\.word) == ["cancelled", "cancelled"])
    }

    @Test func `a batch goes on when the task that reads its items is canceled`() async {
        let engine = engine()
        let batch = engine.batch(requests(2))
        engine.start(batch)
        await flying(2)
        server.land("http://h/0")
        let task = Task { await batch.items.reduce(into: []) { $0.append($1.index) } }
        await untilTrue { batch.completed == 1 }
        task.cancel()
        #expect(await [[], [0]].contains(task.value))
        server.landAll()
        #expect(await batch.results.map(\.word) == ["200", "200"])
    }

    // MARK: Pausing

    @Test func `a paused batch needs one resume for each pause, and keeps an item's own pause`() async {
        let engine = engine()
        let batch = engine.batch(requests(2))
        batch.connections[1].pause()
        batch.resume()
        #expect(batch.connections.map(\.isPaused) == [false, true])
        batch.pause()
        batch.pause()
        engine.start(batch)
        batch.resume()
        #expect(batch.connections.map(\.isPaused) == [true, true])
        batch.resume()
        await flying(1)
        #expect(batch.connections.map(\.isPaused) == [false, true])
        batch.connections[1].resume()
        await flying(2)
        server.landAll()
        #expect(await batch.results.map(\.word) == ["200", "200"])
    }

    // MARK: Memory

    @Test func `a batch that never runs is freed, and its sequences end`() async {
        let leaked = WeakConnection(nil)
        let observers = { () -> (AsyncStream<BatchProgress>, AsyncStream<BatchProgress>) in
            let batch = engine().batch(requests(2))
            leaked.connection.withLock { $0.value = batch.connections[0] }
            return (
                batch.progress,
                {
                    _ = batch.foundationProgress; return batch.progress
                }()
            )
        }()
        #expect(leaked.isGone)
        // A connection that is released is canceled.
        #expect(await observers.0.all.map(\.completed).last == 2)
        #expect(await observers.1.all.map(\.completed).last == 2)
    }

    @Test func `an ended batch is freed although its operation and progress were used`() async {
        let leaked = WeakConnection(nil)
        await { () async in
            let engine = engine()
            let batch = engine.batch(requests(2))
            leaked.connection.withLock { $0.value = batch.connections[0] }
            let (operation, progress) = (batch.operation, batch.foundationProgress)
            engine.start(batch)
            await flying(2)
            server.landAll()
            _ = await batch.results
            #expect(operation.isFinished && progress.isFinished)
        }()
        await untilTrue { leaked.isGone }
    }
}

extension Result<Response, ConnectionError> {
    /// The status, or the error.
    fileprivate var word: String {
        switch self {
        case .success(let response): "\(response.status.code)"
        case .failure(let error): "\(error.code)"
        }
    }
}
