import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

@Suite("Random batches", .limit(minutes: 10)) struct BatchPropertyTests {
    private let server = ManualServer()

    @Test func `a batch never loses progress, delivers each result once, and ends once`() async {
        var random = SplitMix(state: Effort.seed)
        for _ in 0..<Effort.rounds(60, soaking: 5000) { await round(&random) }
    }

    private func round(_ random: inout SplitMix) async {
        let (engine, ends) = (Engine.stub(server.transport), Guarded(0))
        let requests = (0..<random.below(30)).map { Request("http://h/\($0)") }
        let batch = engine.batch(requests, isFailingFast: random.below(4) == 0)
        for connection in batch.connections where random.below(3) == 0 { connection.completionBlock = {} }
        let follower = BlockOperation { ends.withLock { $0 += 1 } }
        follower.addDependency(batch.operation)
        let (queue, canceled, paused) = (
            OperationQueue(), batch.connections.shuffled(using: &random).prefix(random.below(4)), random.below(6)
        )
        queue.addOperation(follower)

        async let progress = batch.progress.all
        async let items = batch.items.reduce(into: []) { $0.append($1.index) }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { engine.start(batch) }
            group.addTask { for connection in canceled { connection.cancel() } }
            for _ in 0..<2 { group.addTask { await Self.rock(batch, paused) } }
        }
        while batch.completed < batch.count {
            server.landAll()
            await Task.yield()
        }
        await check(batch, await progress, await items)
        await untilTrue { ends.withLock { $0 } == 1 }
    }

    private static func rock(_ batch: Batch, _ times: Int) async {
        for _ in 0..<times {
            batch.pause()
            await Task.yield()
            batch.resume()
        }
    }

    private func check(_ batch: Batch, _ progress: [BatchProgress], _ items: [Int]) async {
        let results = await batch.results
        let failed = results.count { $0.isFailure }
        #expect(results.count == batch.count && items.sorted() == Array(0..<batch.count), "DIAMOND_SEED=\(Effort.seed)")
        #expect(zip(progress, progress.dropFirst()).allSatisfy { $0.completed < $1.completed })
        #expect(progress.last == BatchProgress(completed: batch.count, failed: failed, count: batch.count))
        #expect(batch.foundationProgress.isFinished && batch.operation.isFinished)
        let isFailingFast = batch.coordinator.core.withLock { $0.life.isFailingFast }
        #expect(isFailingFast || !results.contains { $0.code.map { $0 != .cancelled } ?? false })
    }
}
