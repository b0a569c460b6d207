#if Curl && os(Linux)
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// Runs in a process of its own, because it counts everything that the process has.
@Suite("An engine that was closed and released", .limit(minutes: 10)) struct EngineRemainsTests {
    @Test func `a closed and released engine has left no file, socket, thread or task`() async {
        await #expect(processExitsWith: .success) {
            let (server, threads, count) = (try await SampleServer.shared, ProcessUsage.threadCount, 16)
            // The first engine creates objects for the whole process, such as those that Dispatch's threads wait with.
            try await EngineLife(server).run()
            let descriptors = ProcessUsage.descriptors
            for _ in 0..<count { try await EngineLife(server).run() }

            #expect(await comes { ProcessUsage.descriptors.isWithin(descriptors) }, "\(ProcessUsage.descriptors)")
            // Dispatch has a varying number of threads, and ends those that are idle.
            #expect(await comes { ProcessUsage.threadCount < threads + count / 2 })
        }
    }
}

/// The life of an engine that opens every kind of resource that an engine can open.
private struct EngineLife {
    /// Retained by every task that is created while it is bound, and by the tasks of such tasks.
    private final class TaskMark: Sendable {
        @TaskLocal static var bound: TaskMark?
    }

    private let server: SampleServer
    private let temporary = TemporaryStore()
    private let left = RemainingReferences()

    init(_ server: SampleServer) { self.server = server }

    /// Returns when none of its parts is left.
    func run() async throws {
        try await live()
        try #require(await comes { left.parts.isEmpty }, "\(left.parts)")
        try #require(await comes { !hasFiles && !hasThread }, "\(ProcessUsage.descriptors)")
    }

    private func live() async throws {
        let mark = TaskMark()
        left.note(mark)
        try await TaskMark.$bound.withValue(mark) {
            let engine = Engine(.init(store: temporary.store))
            let replayer = try engine.replayer()
            left.note(partsOf: engine, replayer)
            let replaying = Task { await replayer.run() }
            try await use(engine)
            #expect(hasFiles && hasThread)
            #expect(ProcessUsage.descriptors["socket", default: 0] > 0)
            // One descriptor of the replayer and one of the reader of holds. There is none if the user's limit is
            // reached, as with many tests at the same time.
            #expect(ProcessUsage.descriptors["anon_inode:inotify", default: 0] <= 2)
            await engine.close()
            _ = await replaying.value
        }
    }

    /// Requests that end, that are queued, or that go on until the engine is closed.
    private func use(_ engine: Engine) async throws {
        try await withThrowingTaskGroup { group in
            for city in 1...8 { group.addTask { _ = try await engine.send(Request(server.url("cities/\(city)"))) } }
            try await group.waitForAll()
        }
        var request = Request(server.url("notes"), method: .post, body: .json(["text": "a"]))
        request.replay = .durable
        _ = try await engine.send(request)
        let queue = try engine.queue()
        let id = try #require(try await queue.enqueue(request))
        #expect(await comes { (try? queue.job(id))?.state == .done })
        engine.start(Request(server.url("wire/hang-body")))
        #expect(await comes { engine.activity.counts.inFlight == 1 })
    }

    private var hasFiles: Bool {
        ProcessUsage.descriptors.keys.contains { $0.contains(temporary.directory.lastPathComponent) }
    }

    private var hasThread: Bool { !ProcessUsage.threads(named: "diamond.curl").isEmpty }
}

/// The parts of an engine, for as long as they are retained.
private final class RemainingReferences: Sendable {
    /// `@unchecked Sendable`: only the runtime changes it.
    private struct WeakPart: @unchecked Sendable {
        weak var part: AnyObject?
    }

    private let noted = Guarded<[WeakPart]>([])

    var parts: [AnyObject] { noted.withLock { $0 }.compactMap(\.part) }

    func note(_ parts: AnyObject?...) {
        noted.withLock { $0 += parts.map { WeakPart(part: $0) } }
    }

    func note(partsOf engine: Engine, _ replayer: Replayer) {
        note(engine, engine.activity, engine.cache, engine.lanes, engine.transport as? CurlTransport)
        note(engine.members, engine.pipeline.replays?.opened, replayer)
    }
}

extension [String: Int] {
    /// Whether no count is higher than in another dictionary.
    fileprivate func isWithin(_ other: Self) -> Bool { allSatisfy { $1 <= other[$0, default: 0] } }
}

/// Yields until the condition holds; `false` after five minutes, because no time limit ends a separate process.
private func comes(_ condition: () -> Bool) async -> Bool {
    let end = ContinuousClock.now + .seconds(300)
    while !condition(), .now < end { await Task.yield() }
    return condition()
}
#endif
