import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("A batch", .limit(minutes: 5)) struct BatchTests {
    private let server = ManualServer()

    private func engine() -> Engine { .stub(server.transport) }

    private func requests(_ count: Int) -> [Request] { (0..<count).map { Request("http://h/\($0)") } }

    private func flying(_ count: Int) async { await untilTrue { server.flying.count == count } }

    // MARK: Results

    @Test func `delivers results both in the order of its items and as they arrive`() async throws {
        let engine = engine()
        let batch = engine.batch(requests(3))
        engine.start(batch)
        await flying(3)
        var items = batch.items.makeAsyncIterator()
        for index in [2, 0, 1] {
            server.land("http://h/\(index)")
            let item = await items.next(isolation: #isolation)
            #expect(item?.index == index)
            #expect(try item?.result.get().text == "http://h/\(index)")
        }
        #expect(await items.next(isolation: #isolation) == nil)
        #expect(try await batch.results.map { try $0.get().text } == ["http://h/0", "http://h/1", "http://h/2"])
        #expect(await batch.items.reduce(into: []) { $0.append($1.index) } == [2, 0, 1])
    }

    @Test func `an empty batch has ended at once`() async {
        let batch = Batch([])
        #expect(await batch.results.isEmpty)
        #expect(await batch.progress.all == [BatchProgress(completed: 0, failed: 0, count: 0)])
        #expect(await batch.items.reduce(0) { count, _ in count + 1 } == 0)
        #expect(batch.operation.isFinished && batch.foundationProgress.isFinished)
    }

    @Test func `reports its progress from the present count to the end`() async {
        let engine = engine()
        let batch = engine.batch(requests(3))
        var progress = batch.progress.makeAsyncIterator()
        #expect(await progress.next()?.completed == 0)
        engine.start(batch)
        await flying(3)
        server.land("http://h/1")
        #expect(await progress.next()?.fractionCompleted == 1.0 / 3)
        batch.connections[0].cancel()
        #expect(await progress.next() == BatchProgress(completed: 2, failed: 1, count: 3))
        server.landAll()
        #expect(await progress.next() == BatchProgress(completed: 3, failed: 1, count: 3))
        #expect(await progress.next() == nil)
        #expect(batch.completed == 3 && batch.count == 3)
        #expect(await batch.progress.all == [BatchProgress(completed: 3, failed: 1, count: 3)])
    }

    @Test func `accepts finished and repeated connections, and those of several engines`() async throws {
        let engines = [engine(), engine()]
        let connections = engines.map { $0.connection(for: Request("http://h/")) }
        engines[0].start(connections[0])
        await flying(1)
        server.landAll()
        _ = try await connections[0].response
        let batches = [Batch(connections + connections), Batch(connections)]
        engines[1].start(batches[0])
        await flying(1)
        server.landAll()
        #expect(await batches[0].results.count == 4)
        #expect(await batches[1].results.count == 2)
        #expect(await batches[0].progress.all == [BatchProgress(completed: 4, failed: 0, count: 4)])
    }

    // MARK: The end

    @Test func `ends after the last completion block, even if that was replaced during the run`() async {
        let engine = engine()
        let batch = engine.batch(requests(1))
        let (entered, returned) = (Gate(), DispatchSemaphore(value: 0))
        let calls = Guarded<[String]>([])
        batch.connections[0].completionBlock = { calls.withLock { $0.append("replaced") } }
        engine.start(batch)
        await flying(1)
        batch.connections[0].completionBlock = { [former = batch.connections[0].completionBlock] in
            former?()
            entered.open()
            returned.wait()
            calls.withLock { $0.append("last") }
        }
        server.landAll()
        await entered.wait()
        #expect(batch.connections[0].isFinished && batch.completed == 0)
        #expect(!batch.operation.isFinished)
        returned.signal()
        #expect(await batch.results.count == 1)
        #expect(calls.withLock { $0 } == ["replaced", "last"])
    }

    @Test func `can be a dependency of operations and connections`() async throws {
        let engine = engine()
        let batch = engine.batch(requests(2))
        let (queue, ran) = (OperationQueue(), Gate())
        let (other, connection) = (BlockOperation { ran.open() }, engine.connection(for: Request("http://h/last")))
        other.addDependency(batch.operation)
        connection.addDependency(batch.operation)
        queue.addOperation(other)
        engine.start(connection)
        engine.start(batch)
        await flying(2)
        server.land("http://h/0")
        await untilTrue { batch.completed == 1 }
        #expect(!ran.isOpen && !connection.isExecuting && !batch.operation.isFinished)
        server.land("http://h/1")
        await ran.wait()
        await untilTrue { server.flying == ["http://h/last"] }
        server.landAll()
        #expect(try await connection.response.status == .ok)
        #expect(batch.operation.isFinished)
    }

    @Test func `counts in Foundation's progress, also as a child of another progress`() async {
        let engine = engine()
        let (batch, whole) = (engine.batch(requests(4)), Progress.discreteProgress(totalUnitCount: 1))
        whole.addChild(batch.foundationProgress, withPendingUnitCount: 1)
        #expect(batch.foundationProgress === batch.foundationProgress)
        engine.start(batch)
        await flying(4)
        server.land("http://h/3")
        await untilTrue { batch.foundationProgress.completedUnitCount == 1 }
        #expect(batch.foundationProgress.totalUnitCount == 4 && whole.fractionCompleted == 0.25)
        whole.cancel()
        #expect(await batch.results.count { $0.isFailure } == 3)
        #expect(batch.foundationProgress.completedUnitCount == 4)
    }

    // MARK: Types

    @Test func `a batch of typed calls delivers their outputs, and errors for failing statuses`() async {
        let engine = Engine.stub(
            StubTransport { request throws(TransportError) in
                let number = request.url.split(separator: "/").last ?? ""
                return .stub(status: number == "2" ? 404 : 200, body: number == "1" ? "none" : "[\(number)]")
            }
        )
        let results = await engine.send(requests(4).map { $0.decoding([Int].self) })
        let codes: [ConnectionError.Code?] = [nil, .undecodable, .badStatus, nil]
        #expect(results.map(\.code) == codes)
        #expect(results.compactMap { try? $0.get() } == [[0], [3]])
    }

    @Test func `a batch of many thousands of connections delivers every result`() async {
        let count = Effort.rounds(5000, soaking: 100_000)
        let engine = Engine.stub(StubTransport())
        let batch = engine.batch(requests(count), isFailingFast: true) { $0.status != .ok }
        var indices = Set<Int>()
        engine.start(batch)
        for await item in batch.items { indices.insert(item.index) }
        #expect(indices.count == count)
        #expect(await batch.results.allSatisfy { !$0.isFailure })
    }
}

extension AsyncStream where Element: Sendable {
    var all: [Element] {
        get async { await reduce(into: []) { $0.append($1) } }
    }
}

extension Result where Failure == ConnectionError {
    var code: ConnectionError.Code? {
        if case .failure(let error) = self { error.code } else { nil }
    }

    var isFailure: Bool { code != nil }
}
