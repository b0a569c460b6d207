import Diamond
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes

/// A program of calls, answers and changes drawn from a seed, and the text of all its observable effects.
///
/// One event happens at a time: after each step the run waits until the engine rests. Events within one step are
/// sorted where no order is guaranteed.
final class RecordedRun {
    let seed: UInt64
    let clock = TestClock()
    let begin: Date
    let temporary = TemporaryStore()
    let pages: [ModelServer.Page]
    private let interceptor = PersonalCredential()
    private let callbacks = DispatchQueue(label: "recorded callbacks")

    var engine: Engine
    var transport: HeldTransport
    var events: RunEvents
    var server = ModelServer()
    var calls: [RecordedCall] = []
    var isClosed = false
    /// The number of steps so far.
    var step = 0
    /// The steps after which the engine did not rest within its time.
    private(set) var restlessSteps = 0

    /// One text for each step.
    private(set) var steps: [[String]] = []
    /// The lines at the end of the step before.
    private var standing: [String: [String]] = [:]

    init(seed: UInt64) {
        self.seed = seed
        begin = clock.date
        var random = SplitMix(state: seed)
        pages = Array(ModelServer.Page.allCases.shuffled(using: &random).prefix(5 + random.below(5)))
        transport = HeldTransport()
        events = RunEvents()
        engine = Engine(Engine.Configuration(testing: transport))
        open()
    }

    /// Begins with a new engine on the same store.
    func open() {
        transport = HeldTransport()
        events = RunEvents()
        isClosed = false
        var configuration = Engine.Configuration(testing: transport, clock: clock, store: temporary)
        configuration.retry = RetryPolicy()
        configuration.draw = { 0.5 }
        configuration.interceptors = [interceptor]
        configuration.observers = [events]
        configuration.lanes = ["narrow": LaneLimits(width: 1), "serial": .serial]
        configuration.callbackExecutor = .queue(callbacks)
        configuration.width = seed % 4 == 0 ? 3 : 64
        configuration.originWidth = seed % 4 == 0 ? 2 : 32
        engine = Engine(configuration)
    }

    /// The whole text.
    var text: String {
        steps.map { $0.joined(separator: "\n") }.joined(separator: "\n") + "\n"
    }

    // MARK: Running

    /// - Parameter count: steps before the run is brought to its end.
    func run(_ count: Int) async {
        let restart = seed % 3 == 0 ? count * 2 / 3 : .max
        for number in 1...count {
            if number == restart { await restartEngine() }
            await perform { await $0.takeStep() }
        }
        if seed % 5 != 0 { await finish() }
        await perform { run in
            await run.close()
            return "close"
        }
    }

    private func restartEngine() async {
        await perform { run in
            await run.close()
            return "close"
        }
        await perform { run in
            run.open()
            return "open"
        }
    }

    /// Ends everything under way.
    private func finish() async {
        await perform { run in
            run.resumeAll()
            return "resume all"
        }
        for _ in 0..<60 where !transport.held.isEmpty || !clock.sleeping.isEmpty && !isAtRest {
            await perform { run in await run.bringNearerToEnd() }
        }
    }

    private var isAtRest: Bool { calls.allSatisfy(\.isOver) && engine.activity.counts.isIdle }

    func close() async {
        isClosed = true
        await engine.close()
    }

    /// Runs a step, waits until the engine rests, and records the observable effects.
    private func perform(_ action: (RecordedRun) async -> String) async {
        step += 1
        transport.begin(step)
        let seen = transport.held.map(\.number)
        let name = await action(self)
        await rest()
        await write(name, besides: seen)
    }

    // MARK: Rest

    /// The number of equal readings in a row after which the engine counts as resting.
    ///
    /// It is low where the reason of each call's wait is known; higher where the reason covers several calls, which may
    /// share an exchange; and highest where it is not known.
    private var looksNeeded: Int {
        let waiting = calls.filter { !$0.isOver && !isHeldUp($0) && $0.kind != .replay }
        guard engine.activity.counts.inFlight == transport.held.count, areCallsCounted, areJobsPlaced else {
            return 250
        }
        let places = Dictionary(grouping: events.places) { Self.place($0.method, $0.url) }.mapValues(\.count)
        var isShared = false
        for (place, calls) in Dictionary(grouping: waiting, by: { Self.place($0.request.method, $0.request.url) }) {
            let own = calls.count { $0.isAlone }
            let all = places[place] ?? 0
            guard all >= own + (own < calls.count ? 1 : 0) else { return 250 }
            if all < calls.count { isShared = true }
        }
        return isShared ? 30 : 6
    }

    /// Whether the engine counts what has not ended.
    private var areCallsCounted: Bool {
        calls.count { !$0.isOver && $0.kind != .replay } <= engine.activity.counts.requests
    }

    /// Whether running jobs are on the wire or wait for a permit, and are the replayer's where that runs.
    private var areJobsPlaced: Bool {
        let all = ReplayFilter(includesSignedOut: true)
        guard !isClosed, let jobs = try? engine.queue().jobs(all, limit: 1000) else { return true }
        let running = jobs.filter { $0.state == .running }
        let places = Dictionary(grouping: events.places) { Self.place($0.method, $0.url) }
        let arePlaced = Dictionary(grouping: running, by: Self.place).allSatisfy { place, jobs in
            jobs.count <= places[place]?.count ?? 0
        }
        guard arePlaced else { return false }
        let isReplaying = calls.contains { $0.kind == .replay && !$0.isOver }
        return !isReplaying || running.count > calls.count { !$0.isOver && $0.request.replay.mode == .durable }
    }

    /// Whether a call waits for another, or to be resumed.
    private func isHeldUp(_ call: RecordedCall) -> Bool {
        if let connection = call.connection {
            if connection.isPaused || connection.dependencies.contains(where: { !$0.isFinished }) { return true }
        }
        return call.request.lane == "serial" && calls.contains { $0.isBefore(call) && !$0.isOver }
    }

    private static func place(_ job: ReplayJob) -> String {
        place(HTTPRequest.Method(rawValue: job.method) ?? .get, job.url)
    }

    /// The resource of a request, after redirects.
    private static func place(_ method: HTTPRequest.Method, _ url: String) -> String {
        let page = ModelServer.Page.allCases.first { $0.url == url }
        let method = page == .moved && method == .post ? .get : method
        return "\(method.rawValue) \(page?.target ?? url)"
    }

    private struct Stamp: Equatable {
        var events: Int
        var exchanges: Int
        var calls: Int
        var sleeping: Int
        var counts: ActivityCounts
        var disk: [String]
    }

    private func stamp() async -> Stamp {
        await engine.cache?.flush()
        return Stamp(
            events: events.count, exchanges: transport.changes, calls: calls.map(\.changes).reduce(calls.count, +),
            sleeping: clock.sleeping.count, counts: engine.activity.counts, disk: entries + jobs)
    }

    /// Waits until nothing has changed for a while (``looksNeeded``).
    func rest() async {
        var looks = 0
        var last = await stamp()
        while looks < looksNeeded {
            for _ in 0..<25 { await Task.yield() }
            await throughOtherThreads()
            // Real time: the cache collects writes for 10 ms by a clock of its own, and libdispatch has no other.
            try? await Task.sleep(for: .milliseconds(1))
            let now = await stamp()
            looks = now == last ? looks + 1 : 0
            last = now
        }
        if looksNeeded == 250 { restlessSteps += 1 }
    }

    /// Returns when blocks that were queued before have had a thread.
    private func throughOtherThreads() async {
        for queue in [callbacks, DispatchQueue.global()] {
            await withCheckedContinuation { waiter in queue.async { waiter.resume() } }
        }
    }

    /// Advances the clock, and lets the engine rest whenever a sleep has ended.
    func advance(by duration: Duration) async {
        var left = duration
        while let next = clock.sleeping.first, next <= left {
            let step = max(next, .milliseconds(1))
            clock.advance(by: step)
            left -= step
            await rest()
        }
        if left > .zero { clock.advance(by: left) }
    }

    // MARK: Writing

    private var entries: [String] {
        let listings = (try? engine.cache?.list([], by: .url, limit: 1000)) ?? []
        let now = clock.wallTime
        return listings.map { listing in
            let left = listing.freshness(at: now)
            let freshness = left.map { $0 > 0 ? "fresh" : "stale" } ?? "unsaid"
            let kind = listing.isPartial ? "part \(listing.bodySize)" : freshness
            return "\(listing.method) \(listing.url.short) \(listing.status) \(kind)"
        }.sorted()
    }

    private var jobs: [String] {
        let all = ReplayFilter(includesSignedOut: true)
        guard !isClosed, let jobs = try? engine.queue().jobs(all, limit: 1000) else { return [] }
        return jobs.map { job in
            let status = job.status.map { " \($0)" } ?? ""
            return "\(job.id) \(job.method) \(job.url.short) \(job.state) \(job.reason) \(job.attempts)\(status)"
        }
    }

    private func write(_ name: String, besides known: [Int]) async {
        var lines = ["\(step) \(name)"]
        let arrived = transport.held.filter { !known.contains($0.number) }.map { "  sent \($0.request.recorded)" }
        lines += arrived.sorted()
        let told = events.take()
        for call in calls {
            let facts = isClosed ? call.takeEnds() : call.takeFacts()
            lines += facts.map { "  \(call.number) \($0)" }
        }
        if !told.isEmpty, !isClosed { lines.append("  told \(Self.counted(told))") }
        lines += changed("counts", engine.activity.counts.facts)
        if !isClosed { lines += changed("cache", entries) + changed("jobs", jobs) }
        if isClosed { lines.append("  left \(events.open)") }
        steps.append(lines)
    }

    /// Returns a line where it has changed.
    private func changed(_ name: String, _ facts: [String]) -> [String] {
        guard standing[name] != facts else { return [] }
        standing[name] = facts
        return ["  \(name) \(facts.isEmpty ? "none" : facts.joined(separator: "; "))"]
    }

    private static func counted(_ facts: [String]) -> String {
        var counts: [(fact: String, count: Int)] = []
        for fact in facts {
            if counts.last?.fact == fact { counts[counts.count - 1].count += 1 } else { counts.append((fact, 1)) }
        }
        return counts.map { $0.count == 1 ? $0.fact : "\($0.count) × \($0.fact)" }.joined(separator: "; ")
    }
}

extension ActivityCounts {
    /// The counts that are not 0.
    fileprivate var facts: [String] {
        let all = [
            ("requests", requests), ("queued", queued), ("in flight", inFlight), ("backing off", backingOff),
            ("paused", paused), ("refreshing", refreshing),
        ]
        return all.filter { $0.1 != 0 }.map { "\($0.1) \($0.0)" }
    }
}

extension RecordedCall {
    /// Whether no other call waits for the same exchange.
    fileprivate var isAlone: Bool {
        kind == .stream || kind == .download || kind == .file || !request.isShareable
    }

    /// Whether another call in the same lane was made after it.
    fileprivate func isBefore(_ other: RecordedCall) -> Bool {
        number < other.number && request.lane == other.request.lane
    }
}

extension TransportRequest {
    /// A line that names the request on the wire; of random values only that they are there.
    var recorded: String {
        let shown: [HTTPField.Name] = [
            .ifNoneMatch, .ifModifiedSince, .ifMatch, .range, .ifRange, .authorization, .cacheControl, .userAgent,
            .acceptLanguage, .acceptEncoding,
        ]
        var fields = shown.compactMap { name in headers[name].map { "\(name): \($0)" } }
            .filter { $0 != "User-Agent: Diamond" }
        if headers.contains(where: { $0.name.rawName == "Idempotency-Key" }) { fields.append("Idempotency-Key") }
        if case .bytes(let data) = body { fields.append("body \(data.count)") }
        return ([method.rawValue, url.short] + (fields.isEmpty ? [] : ["{" + fields.joined(separator: ", ") + "}"]))
            .joined(separator: " ")
    }
}

/// Adds a credential to requests for one page.
struct PersonalCredential: Interceptor {
    func adapt(_ request: inout TransportRequest, attempt: Int) async throws {
        guard request.url.hasSuffix("/personal") else { return }
        request.headers[.authorization] = "Bearer token"
    }
}
