import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Dispatch
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// An app sends from its main actor, which must stay free to draw.
@Suite("The actor of the caller", .limit(minutes: 5)) struct CallersActorTests {
    enum Call: CaseIterable { case send, serial, output, stream, download, key, purge, forget, enqueue, replay }

    private let temporary = TemporaryStore()
    private let actor = Caller()
    /// The number of calls of app code on the actor, which the engine must avoid.
    private let intrusions = Guarded(0)

    private var look: @Sendable () -> Void {
        { [intrusions] in if CallerExecutor.isCurrent { intrusions.withLock { $0 += 1 } } }
    }

    /// An engine without app code except a transport and a clock, which is read for every response from the cache.
    private func plain(_ clock: @escaping @Sendable () -> Void = {}) -> Engine.Configuration {
        let look = look
        var configuration = Engine.Configuration(store: temporary.store)
        configuration.now = {
            clock()
            return Date(timeIntervalSince1970: 1_800_000_000)
        }
        configuration.transport = StubTransport { _ throws(TransportError) in
            look()
            return .stub(headers: [.cacheControl: "max-age=86400"], body: "7")
        }
        return configuration
    }

    private func engine() -> Engine {
        let look = look
        var configuration = plain(look)
        configuration.interceptors = [ActorCheckInterceptor(look: look)]
        configuration.credentials = ActorCheckProvider(look: look)
        configuration.lanes = ["serial": .serial]
        return Engine(configuration)
    }

    @Test(arguments: Call.allCases) func `the caller's actor runs only the start and the result of a call`(call: Call)
        async throws
    {
        let engine = engine()
        let directory = temporary.store.directory
        let queue = try engine.queue()
        let replayer = try engine.replayer()
        // Twice: from a server, and from the cache.
        for _ in 0..<2 {
            let before = actor.jobs
            try await actor.run {
                let request = Request("http://h/")
                switch call {
                case .send: _ = try await engine.send(request)
                case .serial:
                    var request = request
                    request.lane = "serial"
                    _ = try await engine.send(request)
                case .output: #expect(try await engine.send(SightEndpoint()).isElsewhere)
                case .stream: _ = try await engine.stream(request)
                case .download: _ = try await engine.download(request, to: directory.appendingPathComponent("file"))
                case .key: _ = try await engine.key(of: request)
                case .purge: _ = try await engine.purge(request)
                case .forget: _ = try await engine.forget(identity: "anna")
                case .enqueue: _ = try await queue.enqueue(request)
                case .replay: _ = await replayer.replay()
                }
            }
            // One job for the start, and one for the result.
            #expect(actor.jobs - before <= 2)
        }
        #expect(intrusions.withLock { $0 } == 0)
        await engine.close()
    }

    @Test func `the caller's actor is not left for a response in memory`() async throws {
        let isHere = Guarded(false)
        let engine = Engine(plain { if CallerExecutor.isCurrent { isHere.withLock { $0 = true } } })
        _ = try await engine.send(Request("http://h/"))
        // From time to time, changes by other processes are read first, on another executor.
        for _ in 0..<1000 where !isHere.withLock({ $0 }) {
            try await actor.run {
                let response = try await engine.send(Request("http://h/"))
                #expect(response.source == .cache && response.body == Data("7".utf8))
            }
        }
        #expect(isHere.withLock { $0 })
        #expect(engine.activity.counts == ActivityCounts())
        await engine.close()
    }

    @Test func `the caller's actor is not left for a cached key`() async throws {
        let engine = Engine(plain())
        let request = Request("http://h/")
        let key = try await engine.key(of: request)
        let before = actor.jobs
        try await actor.run {
            let again = try await engine.key(of: request)
            #expect(again == key)
        }
        #expect(actor.jobs - before == 1)
        await engine.close()
    }

    enum AppHook: CaseIterable { case observer, interceptor, provider, serial, cookies }

    @Test(arguments: AppHook.allCases)
    func `the caller's actor is left where app code decides about a response in memory`(hook: AppHook) async throws {
        var configuration = plain(look)
        switch hook {
        case .observer, .serial: break
        case .interceptor: configuration.interceptors = [ActorCheckInterceptor(look: look)]
        case .provider: configuration.credentials = ActorCheckProvider(look: look)
        case .cookies: configuration.cookies = CookieJar()
        }
        var request = Request("http://h/")
        if hook == .serial {
            configuration.lanes = ["serial": .serial]
            request.lane = "serial"
        }
        let engine = Engine(configuration)
        let look = look
        let observation = hook == .observer ? engine.activity.observe { _ in look() } : nil
        _ = try await engine.send(request)
        let asked = request
        // Some lookups leave the actor in any case, to read changes by other processes.
        for _ in 0..<200 {
            try await actor.run {
                let response = try await engine.send(asked)
                #expect(response.source == .cache)
            }
        }
        #expect(intrusions.withLock { $0 } == 0)
        withExtendedLifetime(observation) {}
        await engine.close()
    }

    @Test func `requests of one actor in a serial lane are sent in the order of its calls`() async throws {
        let sent = Guarded<[String]>([])
        var configuration = Engine.Configuration(store: nil)
        configuration.transport = StubTransport { request throws(TransportError) in
            sent.withLock { $0.append(request.url) }
            return .stub(body: "7")
        }
        configuration.lanes = ["serial": .serial]
        let engine = Engine(configuration)
        let urls = (0..<200).map { "http://h/\($0)" }
        for response in try await actor.send(urls, in: "serial", of: engine) { #expect(response.status == .ok) }
        #expect(sent.withLock { $0 } == urls)
        await engine.close()
    }

    @Test func `the caller's actor resumes once when it awaits a connection`() async throws {
        let engine = engine()
        let before = actor.jobs
        try await actor.run {
            let connection = engine.start(Request("http://h/"))
            _ = try await connection.response
            // The response is there at once.
            _ = try await connection.response
        }
        // One job to begin, and one to resume, unless the response was there already.
        #expect((1...2).contains(actor.jobs - before))
        #expect(intrusions.withLock { $0 } == 0)
        await engine.close()
    }
}

private actor Caller {
    private nonisolated let executor = CallerExecutor()

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
    nonisolated var jobs: Int { executor.count.withLock { $0 } }

    func run(_ body: @Sendable () async throws -> Void) async throws {
        // Swift 6.3 does not call this for tasks that only wait: the executor has to be visible.
        #expect(CallerExecutor.isCurrent)
        try await body()
    }

    /// Sends each request in a task of its own. The tasks begin one after another.
    func send(_ urls: [String], in lane: Lane, of engine: Engine) async throws -> [Response] {
        let tasks = urls.map { url in
            Task {
                _ = self
                var request = Request(url)
                request.lane = lane
                return try await engine.send(request)
            }
        }
        var responses: [Response] = []
        for task in tasks { responses.append(try await task.value) }
        return responses
    }
}

private final class CallerExecutor: SerialExecutor {
    private static let key = DispatchSpecificKey<Bool>()
    static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) != nil }

    let count = Guarded(0)
    private let queue = DispatchQueue(label: "caller")

    init() { queue.setSpecific(key: Self.key, value: true) }

    func enqueue(_ job: consuming ExecutorJob) {
        count.withLock { $0 += 1 }
        let job = UnownedJob(job)
        queue.async { [self] in job.runSynchronously(on: asUnownedSerialExecutor()) }
    }
}

private struct ActorCheckInterceptor: Interceptor {
    let look: @Sendable () -> Void

    func adapt(_ request: inout TransportRequest, attempt: Int) async throws { look() }
    func validate(_ response: Response) async throws { look() }
    func transform(_ response: inout Response) async throws { look() }
}

private struct ActorCheckProvider: CredentialProvider {
    let look: @Sendable () -> Void

    func identity(for request: Request) async throws -> String? {
        look()
        return "anna"
    }
    func secret(_ name: String, for identity: String?) async throws -> String? { nil }
}

private struct SightEndpoint: Endpoint {
    struct Output: Decodable {
        let isElsewhere: Bool
        init(from decoder: any Decoder) throws { isElsewhere = !CallerExecutor.isCurrent }
    }

    var request: Request { Request("http://h/") }
}
