import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

/// A directory stands for the server, and the engines of one store for the processes of a machine: a file's lock
/// belongs to an open file, whatever the process.
@Suite("The place of a queue", .limit(minutes: 5)) struct QueuePlaceTests {
    private let app = TemporaryStore()
    private let database = TemporaryStore()
    private let server: SQLiteReplayStorage
    private let fault = Guarded(UnreliableStorage.Fault.none)
    private let clock = TestClock()
    private let failures = Guarded<[String]>([])

    init() throws { server = try Self.storage(database.store) }

    private static func storage(_ store: Store) throws(ReplayError) -> SQLiteReplayStorage {
        try SQLiteReplayStorage(store, seal: nil, clock: .system, create: true, seals: true)
    }

    /// The place on the server.
    private func place(_ name: String = "sql://server.test", allowsClearText: Bool = false) -> QueuePlace {
        .server(name, allowsClearText: allowsClearText) { [database, fault] () throws(ReplayError) in
            UnreliableStorage(try Self.storage(database.store), fault: fault)
        }
    }

    /// Returns the configuration of one more process.
    private func configuration(queue: QueuePlace? = nil) -> Engine.Configuration {
        var configuration = Engine.Configuration(store: app.store, queue: queue ?? place())
        configuration.transport = StubTransport(status: 201)
        configuration.clock = clock
        configuration.observers = [
            ActivityListener { [failures] event in
                if case .queueFailed(let reason) = event { failures.withLock { $0.append(reason) } }
            }
        ]
        return configuration
    }

    private func request(_ number: Int) -> Request {
        var request = Request("http://api.test/\(number)", method: .put)
        request.replay = ReplayPolicy(.durable, orderingKey: "k")
        return request
    }

    /// Adds a job, and returns its id.
    @discardableResult
    private func add(_ number: Int, to engine: Engine) async throws -> ReplayJob.ID {
        try #require(try await engine.queue().enqueue(request(number)))
    }

    /// The numbers of the requests that the server has, in their order.
    private func numbers() throws -> [String] {
        try server.jobs(ReplayFilter(), after: 0, limit: 100).map { String($0.url.suffix(1)) }
    }

    /// The names of the directories of spilled jobs.
    private func directories() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: app.directory.path)
            .filter { $0.hasPrefix("replay.spill/") && $0.hasSuffix("/replay.sqlite") }
            .compactMap { $0.split(separator: "/").dropLast().last.map(String.init) }.sorted()
    }

    /// Waits for a condition, while the pauses between two attempts to move jobs pass.
    private func untilPausing(_ condition: () throws -> Bool) async rethrows {
        try await untilTrue {
            clock.advance(by: .seconds(1))
            return try condition()
        }
    }

    /// The number of reports that jobs cannot be moved.
    private var failedMoves: Int { failures.withLock { $0 }.count { $0.contains("cannot be moved") } }

    /// Waits until a number of engines have failed to move jobs. They try again when time passes.
    private func untilMovesFail(_ count: Int) async { await untilTrue { failedMoves >= count } }

    // MARK: Places

    @Test func `a queue is in the store by default, and needs one`() throws {
        #expect(Engine.Configuration().queue.name == nil)
        var own = configuration(queue: .store)
        _ = try Engine(own).queue()
        #expect(FileManager.default.fileExists(atPath: app.store.replayPath))
        own.store = nil
        let error = #expect(throws: ReplayError.self) { try Engine(own).queue() }
        #expect(error?.code == .noStore)
    }

    @Test(arguments: [false, true]) func `a queue elsewhere has an engine's jobs, and its store has none`(
        isServer: Bool
    ) async throws {
        let queue = isServer ? place() : .storage(try Self.storage(database.store))
        let configuration = configuration(queue: queue)
        #expect("\(configuration)".contains(", queue \(isServer ? "sql://server.test" : server.name)"))
        let engine = Engine(configuration)
        #expect(try await add(1, to: engine) > 0)
        var durable = request(2)
        durable.replay = .durable
        #expect(try await engine.send(durable).status.code == 201)
        #expect(try numbers() == ["1", "2"])
        #expect(!FileManager.default.fileExists(atPath: app.store.replayPath))
        #expect(try directories() == (isServer ? ["1"] : []))
        await engine.close()
    }

    @Test func `a server is not waited for when an engine is created`() async throws {
        let (answer, isAsked) = (DispatchSemaphore(value: 0), Guarded(false))
        let place = QueuePlace.server("sql://server.test") { [database] () throws(ReplayError) in
            SilentStorage(try Self.storage(database.store)) {
                isAsked.withLock { $0 = true }
                answer.wait()
                answer.signal()
            }
        }
        let engine = Engine(configuration(queue: place))
        _ = try engine.queue()
        answer.signal()
        await untilTrue { isAsked.withLock { $0 } }
        #expect(try await add(1, to: engine) > 0)
    }

    @Test func `without a store, nothing spills`() async throws {
        var configuration = configuration()
        configuration.store = nil
        let engine = Engine(configuration)
        fault.withLock { $0 = .unreachable }
        let error = await #expect(throws: ReplayError.self) { try await add(1, to: engine) }
        #expect(error?.code == .unreachable)
        let refused = await #expect(throws: ConnectionError.self) { try await engine.send(request(1)) }
        #expect(refused?.code == .cannotQueue)
    }

    @Test func `a directory that cannot be used is reported, and the server is used without it`() async throws {
        try FileManager.default.createDirectory(at: app.directory, withIntermediateDirectories: true)
        try Data().write(to: app.store.spillDirectory)
        let engine = Engine(configuration())
        #expect(failures.withLock { $0 }.contains { $0.contains("jobs cannot be stored here while sql://server.test") })
        #expect(try await add(1, to: engine) > 0)
        fault.withLock { $0 = .unreachable }
        let error = await #expect(throws: ReplayError.self) { try await add(2, to: engine) }
        #expect(error?.code == .unreachable)
    }

    @Test func `an engine whose seal fails for a while has its directory afterwards`() async throws {
        let isLocked = Guarded(true)
        var configuration = configuration(queue: place(allowsClearText: true))
        configuration.seal = LockedSeal(isLocked)
        for _ in 0..<2 {
            let engine = Engine(configuration)
            let error = #expect(throws: ReplayError.self) { try engine.queue() }
            #expect(error?.code == .cannotSeal)
            await engine.close()
        }
        #expect(failures.withLock { $0 }.contains { $0.contains("seal") })
        #expect(!FileManager.default.fileExists(atPath: app.store.spillDirectory.path))
        let engine = Engine(configuration)
        isLocked.withLock { $0 = false }
        fault.withLock { $0 = .unreachable }
        #expect(try await add(1, to: engine) < 0)
        await engine.close()
        // A directory whose key is locked is not left out.
        isLocked.withLock { $0 = true }
        let next = Engine(configuration)
        #expect(throws: ReplayError.self) { try next.queue() }
        isLocked.withLock { $0 = false }
        #expect(try await add(2, to: next) < 0)
        #expect(try directories() == ["1"])
        await next.close()
    }

    // MARK: Spilling

    @Test func `jobs spill while the server is away, and durable requests too`() async throws {
        let engine = Engine(configuration())
        fault.withLock { $0 = .unreachable }
        let first = await #expect(throws: ConnectionError.self) { try await engine.send(request(1)) }
        #expect(first?.code == .queued && (first?.jobID ?? 0) < 0)
        #expect(first?.message.contains("until the queue's server can be reached") == true)
        #expect(try await add(2, to: engine) < 0)
        let third = await #expect(throws: ConnectionError.self) { try await engine.send(request(3)) }
        #expect(third?.code == .queued && (third?.jobID ?? 0) < 0)
        #expect(try numbers() == [])
        fault.withLock { $0 = .none }
        try await untilPausing { try numbers() == ["1", "2", "3"] }
        await engine.close()
    }

    @Test func `a durable request waits once for a server that is away`() async throws {
        let isAnswered = Guarded(false)
        let place = QueuePlace.server("sql://server.test") { [database, fault] () throws(ReplayError) in
            SilentStorage(UnreliableStorage(try Self.storage(database.store), fault: fault)) {
            } beforeIDs: {
                await untilTrue { isAnswered.withLock { $0 } }
            }
        }
        let engine = Engine(configuration(queue: place))
        fault.withLock { $0 = .unreachable }
        let error = await #expect(throws: ConnectionError.self) { try await engine.send(request(1)) }
        #expect(error?.code == .queued && (error?.jobID ?? 0) < 0)
        isAnswered.withLock { $0 = true }
        fault.withLock { $0 = .none }
        try await untilPausing { try numbers() == ["1"] }
        await engine.close()
    }

    @Test func `engines of one store have directories of their own`() async throws {
        fault.withLock { $0 = .unreachable }
        let engines = (0..<3).map { _ in Engine(configuration()) }
        for (number, engine) in engines.enumerated() { #expect(try await add(number, to: engine) < 0) }
        #expect(try directories() == ["1", "2", "3"])
        fault.withLock { $0 = .none }
        try await untilPausing { try numbers().count == 3 }
        #expect(try Set(numbers()) == ["0", "1", "2"])
        for engine in engines { await engine.close() }
    }

    @Test(arguments: [UnreliableStorage.Fault.unreachable, .unknownCommit])
    func `an engine moves what ended ones have left, each job once`(fault kind: UnreliableStorage.Fault) async throws {
        do {
            fault.withLock { $0 = kind }
            let engines = (0..<3).map { _ in Engine(configuration()) }
            for (number, engine) in engines.enumerated() { #expect(try await add(number, to: engine) < 0) }
            for engine in engines { await engine.close() }
        }
        let next = Engine(configuration())
        fault.withLock { $0 = .none }
        try await untilPausing { try Set(numbers()) == ["0", "1", "2"] && isMoved() }
        #expect(try numbers().count == 3)
        await next.close()
    }

    @Test(arguments: [false, true]) func `nothing of a moved job is left in the directory of an ended engine`(
        isMoved: Bool
    ) async throws {
        let living = Engine(configuration())
        _ = try living.queue()
        fault.withLock { $0 = .unreachable }
        do {
            let other = Engine(configuration())
            #expect(try await add(1, to: other) < 0)
            await untilMovesFail(1)
            if isMoved {
                fault.withLock { $0 = .none }
                try await untilPausing { try numbers() == ["1"] && self.isMoved() }
            }
            await other.close()
        }
        fault.withLock { $0 = .none }
        try await untilPausing { try numbers() == ["1"] && app.found(["api.test"]) == [] }
        #expect(try directories() == ["1", "2"])
        await living.close()
    }

    @Test func `a closed engine leaves its directory to the next one, and adds jobs when that has moved them`()
        async throws
    {
        let closed = Engine(configuration())
        fault.withLock { $0 = .unreachable }
        #expect(try await add(1, to: closed) < 0)
        await closed.close()
        let next = Engine(configuration())
        #expect(try await add(2, to: next) < 0)
        #expect(try directories() == ["1"])
        // Its job would overtake the others, or be moved by nobody.
        let error = await #expect(throws: ReplayError.self) { try await add(3, to: closed) }
        #expect(error?.code == .closed)
        fault.withLock { $0 = .none }
        try await untilPausing { try numbers() == ["1", "2"] && isMoved() }
        #expect(try await add(3, to: closed) > 0)
        #expect(try numbers() == ["1", "2", "3"])
        await next.close()
    }

    @Test func `a closed engine that is alone moves the jobs that it adds later`() async throws {
        let engine = Engine(configuration())
        fault.withLock { $0 = .unreachable }
        #expect(try await add(1, to: engine) < 0)
        await engine.close()
        #expect(try await add(2, to: engine) < 0)
        #expect(try directories() == ["1"])
        fault.withLock { $0 = .none }
        try await untilPausing { try numbers() == ["1", "2"] && isMoved() }
        await engine.close()
    }

    @Test func `a living engine moves what another leaves later`() async throws {
        let living = Engine(configuration())
        fault.withLock { $0 = .unreachable }
        do {
            let other = Engine(configuration())
            #expect(try await add(1, to: other) < 0)
            #expect(try directories() == ["1", "2"])
            await other.close()
        }
        fault.withLock { $0 = .none }
        try await untilPausing { try numbers() == ["1"] && isMoved() }
        #expect(try await add(2, to: living) > 0)
        #expect(try numbers() == ["1", "2"])
        await living.close()
    }

    @Test func `a directory is free for a new engine while the server is away`() async throws {
        let (isAnswered, isAsked) = (Guarded(false), Guarded(false))
        let silent = QueuePlace.server("sql://server.test") { [database] () throws(ReplayError) in
            SilentStorage(try Self.storage(database.store)) {
            } beforeIDs: { () async throws(ReplayError) in
                isAsked.withLock { $0 = true }
                await untilTrue { isAnswered.withLock { $0 } }
                throw UnreliableStorage.error
            }
        }
        // Created first, so that it has the first directory.
        let living = Engine(configuration(queue: silent))
        _ = try living.queue()
        fault.withLock { $0 = .unreachable }
        do {
            let other = Engine(configuration())
            #expect(try await add(1, to: other) < 0)
            await other.close()
        }
        #expect(try directories() == ["1", "2"])
        await untilPausing { isAsked.withLock { $0 } }
        let next = Engine(configuration())
        #expect(try await add(2, to: next) < 0)
        #expect(try directories() == ["1", "2"])
        isAnswered.withLock { $0 = true }
        await untilTrue { failures.withLock { $0 }.contains { $0.contains("cannot be moved") } }
        fault.withLock { $0 = .none }
        try await untilPausing { try numbers() == ["1", "2"] }
        for engine in [living, next] { await engine.close() }
    }

    @Test func `the first failure to move jobs is reported, each time that jobs spill`() async throws {
        let engine = Engine(configuration())
        for count in 1...2 {
            fault.withLock { $0 = .unreachable }
            #expect(try await add(count, to: engine) < 0)
            await untilMovesFail(count)
            for _ in 0..<5 {
                _ = await clock.nextSleep()
                clock.advance(by: .seconds(1))
            }
            _ = await clock.nextSleep()
            #expect(failedMoves == count)
            fault.withLock { $0 = .none }
            try await untilPausing { try numbers().count == count }
            await untilPausing { (try? engine.queue().storage as? SpillingReplayStorage)?.isSpilling == false }
        }
        await engine.close()
    }

    @Test(arguments: [false, true]) func `a job that the server refuses is reported, and the others are moved`(
        isRescued: Bool
    ) async throws {
        let place = QueuePlace.server("sql://server.test") { [database, fault] () throws(ReplayError) in
            RefusingStorage(UnreliableStorage(try Self.storage(database.store), fault: fault))
        }
        let living = Engine(configuration(queue: place))
        _ = try living.queue()
        fault.withLock { $0 = .unreachable }
        do {
            let other = Engine(configuration(queue: place))
            let engine = isRescued ? other : living
            for number in 1...3 { #expect(try await add(number, to: engine) < 0) }
            await untilMovesFail(1)
            await other.close()
        }
        fault.withLock { $0 = .none }
        try await untilPausing { try numbers() == ["1", "3"] }
        await untilPausing { failures.withLock { $0 }.contains { $0.contains("refuses job 2 ") } }
        await living.close()
    }

    @Test func `jobs for one server are not moved to another`() async throws {
        fault.withLock { $0 = .unreachable }
        do {
            let engine = Engine(configuration())
            #expect(try await add(1, to: engine) < 0)
            await engine.close()
        }
        fault.withLock { $0 = .none }
        let other = Engine(configuration(queue: place("sql://other.test")))
        #expect(try await add(2, to: other) > 0)
        for _ in 0..<30 {
            clock.advance(by: .seconds(1))
            await Task.yield()
        }
        #expect(try numbers() == ["2"])
        let engine = Engine(configuration())
        try await untilPausing { try numbers() == ["2", "1"] }
        for engine in [engine, other] { await engine.close() }
    }

    @Test(arguments: [false, true]) func `an identity's jobs are erased in all directories, or refused if they move`(
        isLiving: Bool
    ) async throws {
        let engine = Engine(configuration())
        _ = try engine.queue()
        fault.withLock { $0 = .unreachable }
        var other: Engine? = Engine(configuration())
        for engine in [engine, other] {
            var request = request(1)
            request.identity = "anna"
            let id = try #require(try await engine?.queue().enqueue(request))
            #expect(id < 0)
        }
        #expect(try directories() == ["1", "2"])
        await untilMovesFail(2)
        if !isLiving {
            await other?.close()
            other = nil
        }
        fault.withLock { $0 = .none }
        if isLiving {
            let error = await #expect(throws: CacheError.self) {
                try await engine.forget(identity: "anna", discardingJobs: true)
            }
            #expect(error?.code == .busy)
        } else {
            try await engine.forget(identity: "anna", discardingJobs: true)
            #expect(try app.found(["api.test"]) == [])
        }
        for _ in 0..<30 {
            clock.advance(by: .seconds(1))
            await Task.yield()
        }
        if isLiving { try await untilPausing { try numbers() == ["1"] } } else { #expect(try numbers() == []) }
        for engine in [engine, other] { await engine?.close() }
    }

    /// Whether no directory has a job or a note of one.
    private func isMoved() throws -> Bool {
        let place = try FileManager.default.contentsOfDirectory(atPath: app.store.spillDirectory.path)
        for name in place {
            for number in try directories() {
                let directory = app.store.spillDirectory.appending(path: "\(name)/\(number)")
                let storage = try Self.storage(Store(directory: directory))
                guard try storage.holds().isEmpty, try storage.counts().allSatisfy({ $0.key.isEnd || $0.value == 0 })
                else { return false }
            }
        }
        return true
    }

    // MARK: Seals

    @Test func `a queue on a server is refused to an engine with a seal, unless clear text is allowed`() async throws {
        var configuration = configuration()
        configuration.seal = AESGCMSeal.first
        let engine = Engine(configuration)
        let error = #expect(throws: ReplayError.self) { try engine.queue() }
        #expect(error?.code == .notSealed && error?.isTransientWhenOpen == false)
        #expect(error?.message.contains("allowsClearText") == true)
        #expect(failures.withLock { $0 }.contains { $0.contains("allowsClearText") })
        let refused = await #expect(throws: ConnectionError.self) { try await engine.send(request(1)) }
        #expect(refused?.code == .cannotQueue)
        #expect(try numbers() == [])
        configuration.queue = place(allowsClearText: true)
        #expect(try await add(1, to: Engine(configuration)) > 0)
        configuration.queue = .storage(try Self.storage(database.store))
        #expect(try await add(2, to: Engine(configuration)) > 0)
        #expect(try numbers() == ["1", "2"])
    }

    @Test func `spilled jobs are sealed, and wait for an engine with their key`() async throws {
        fault.withLock { $0 = .unreachable }
        var configuration = configuration(queue: place(allowsClearText: true))
        configuration.seal = AESGCMSeal.first
        do {
            let engine = Engine(configuration)
            #expect(try await add(1, to: engine) < 0)
            #expect(try app.found(["api.test"]) == [])
            await engine.close()
        }
        fault.withLock { $0 = .none }
        configuration.seal = nil
        let clear = Engine(configuration)
        await untilPausing { failures.withLock { $0 }.contains { $0.contains("sealed") } }
        #expect(try await add(2, to: clear) > 0)
        #expect(try directories() == ["1", "2"] && numbers() == ["2"])
        configuration.seal = AESGCMSeal.first
        let sealed = Engine(configuration)
        try await untilPausing { try numbers() == ["2", "1"] }
        for engine in [clear, sealed] { await engine.close() }
    }
}

/// A seal whose key cannot be read while it is locked.
private struct LockedSeal: CacheSeal {
    private let seal = AESGCMSeal.first
    private let isLocked: Guarded<Bool>

    init(_ isLocked: Guarded<Bool>) { self.isLocked = isLocked }

    var keyID: String { seal.keyID }

    private func unlocked() throws -> AESGCMSeal {
        guard !isLocked.withLock({ $0 }) else { throw POSIXError(.EACCES) }
        return seal
    }

    func seal(_ bytes: Data, context: Data) throws -> Data { try unlocked().seal(bytes, context: context) }

    func open(_ bytes: Data, keyID: String, context: Data) throws -> Data {
        try unlocked().open(bytes, keyID: keyID, context: context)
    }
}

/// A storage whose server refuses the request `/2`.
private final class RefusingStorage: ReplayStorageWrapper {
    let base: any ReplayStorage

    init(_ base: any ReplayStorage) { self.base = base }

    func enqueue(
        _ entry: ReplayEntry, isWanted: (@Sendable ([ReplayJob.ID?]) -> Bool)?
    ) async throws(ReplayError) -> ReplayEnqueued {
        guard entry.drafts.allSatisfy({ !$0.url.hasSuffix("/2") }) else { throw ReplayError(.badRequest, "no") }
        return try await base.enqueue(entry, isWanted: isWanted)
    }
}

/// A storage whose server does not answer with its holds, or with ids, before a closure returns.
private final class SilentStorage: ReplayStorageWrapper {
    let base: any ReplayStorage
    private let wait: @Sendable () -> Void
    private let waitForIDs: @Sendable () async throws(ReplayError) -> Void

    init(
        _ base: any ReplayStorage, wait: @escaping @Sendable () -> Void,
        beforeIDs waitForIDs: @escaping @Sendable () async throws(ReplayError) -> Void = {}
    ) {
        self.base = base
        self.wait = wait
        self.waitForIDs = waitForIDs
    }

    func reserveIDs(_ count: Int) async throws(ReplayError) -> ReplayJob.ID {
        try await waitForIDs()
        return try await base.reserveIDs(count)
    }

    func holds() throws(ReplayError) -> [ReplayQueue.ActiveHold] {
        wait()
        return try base.holds()
    }
}
