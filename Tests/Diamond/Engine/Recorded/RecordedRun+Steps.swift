import Diamond
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes

/// The steps of a run. Each is drawn by itself: a step with another effect does not change later draws.
extension RecordedRun {
    private typealias Mood = ModelServer.Mood

    private func random(_ purpose: UInt64) -> SplitMix {
        SplitMix(state: seed &* 1_000_003 &+ UInt64(step) &* 31 &+ purpose)
    }

    /// - Returns: a description of the step.
    func takeStep() async -> String {
        var random = random(0)
        await advance(by: .milliseconds(3 + random.below(11)))
        if isClosed { return "nothing" }
        switch random.below(100) {
        case 0..<34: return start(&random)
        case 34..<64: return answer(&random) ?? start(&random)
        case 64..<68: return change(\.pausable, "pause", &random) { $0.pause() } ?? start(&random)
        case 68..<73: return change(\.isPaused, "resume", &random) { $0.resume() } ?? start(&random)
        case 73..<76: return cancel(&random) ?? start(&random)
        case 76..<80: return changeLanes(&random)
        case 80..<86: return await wait(&random)
        case 86..<88: return changePage(&random)
        case 88..<93: return await tendCache(&random)
        case 93..<95: return replay() ?? start(&random)
        case 95..<98: return await tendQueue(&random) ?? start(&random)
        case 98: return change(\.isWaiting, "priority", &random) { $0.queuePriority = .veryHigh } ?? start(&random)
        default: return again(&random) ?? start(&random)
        }
    }

    // MARK: Calls

    private func start(_ random: inout SplitMix) -> String {
        let kinds: [RecordedCall.Kind] = [
            .connection, .connection, .connection, .callback, .send, .send, .typed, .stream, .shared, .download, .file,
        ]
        let kind = kinds[random.below(kinds.count)]
        let request = request(for: kind, &random)
        let call = make(kind, request, &random)
        calls.append(call)
        let replay = request.replay.mode == .never ? "" : " \(request.replay.mode)"
        return "call \(call.number) \(kind) \(request.method.rawValue) \(request.url.short) \(request.cache) "
            + "lane \(request.lane)\(replay)\(dependencies(of: call))"
    }

    private func dependencies(of call: RecordedCall) -> String {
        guard let connection = call.connection, !connection.dependencies.isEmpty else { return "" }
        let numbers = calls.filter { call in connection.dependencies.contains { $0 === call.connection } }.map(\.number)
        return " after \(numbers)"
    }

    private func request(for kind: RecordedCall.Kind, _ random: inout SplitMix) -> Request {
        let page = pages[random.below(pages.count)]
        var request = Request(page.url)
        let modes = CachePolicy.Mode.allCases + [.automatic, .automatic, .staleWhileRevalidate]
        request.cache = CachePolicy(modes[random.below(modes.count)])
        if page == .silent { request.cache.maxAge = .seconds(10) }
        if page == .varied { request.headers[.acceptLanguage] = random.below(2) == 0 ? "de" : "en" }
        if random.below(6) == 0 { request.tags = ["red"] }
        if random.below(6) == 0 { request.identity = random.below(2) == 0 ? "ann" : "bob" }
        if random.below(8) == 0 { request.retry = random.below(2) == 0 ? .never : RetryPolicy(deadline: .seconds(3)) }
        // Callers that have joined a personal exchange send again at once, in no order: a narrow lane would show it.
        if page != .personal { request.lane = ["default", "default", "narrow", "serial"][random.below(4)] }
        if random.below(12) == 0 { request.method = .head }
        if random.below(5) == 0, kind != .stream, kind != .shared, kind != .download, kind != .file {
            change(&request, &random)
        }
        if !request.isShareable { request.headers[.userAgent] = "call-\(calls.count + 1)" }
        return request
    }

    /// Turns the request into one that changes something.
    private func change(_ request: inout Request, _ random: inout SplitMix) {
        request.method = [.post, .put, .delete][random.below(3)]
        request.lane = random.below(3) == 0 ? "narrow" : "default"
        if request.method != .delete { request.body = .json(["text": "new"]) }
        switch random.below(3) {
        case 0: request.replay = ReplayPolicy(.durable, orderingKey: random.below(2) == 0 ? "notes" : nil)
        case 1: request.replay = .onFailure
        default: break
        }
    }

    private func make(_ kind: RecordedCall.Kind, _ request: Request, _ random: inout SplitMix) -> RecordedCall {
        let engine = engine
        let number = calls.count + 1
        let file = temporary.directory.deletingLastPathComponent()
            .appending(path: "\(temporary.directory.lastPathComponent)-file-\(number)")
        switch kind {
        case .connection, .callback, .file, .replay:
            return connection(number, kind, request, file, &random)
        case .send: return task(number, kind, request) { RecordedCall.text(try await engine.send(request)) }
        case .typed:
            return task(number, kind, request) {
                let item = try await engine.send(request.decoding(Item.self))
                return "\(item)"
            }
        case .stream, .shared:
            return task(number, kind, request) {
                let streamed = try await engine.stream(request, sharing: kind == .shared)
                var body = Data()
                for try await piece in streamed.bytes { body += piece }
                return "\(streamed.status.code) \(streamed.source.rawValue) \(streamed.url.short) "
                    + RecordedCall.text(body) + RecordedCall.text(streamed.attempts)
            }
        case .download:
            return task(number, kind, request) {
                defer { try? FileManager.default.removeItem(at: file) }
                let download = try await engine.download(request, to: file)
                return "\(download.status.code) \(download.url.short) \(RecordedCall.text(try Data(contentsOf: file)))"
                    + RecordedCall.text(download.attempts)
            }
        }
    }

    private func task(
        _ number: Int,
        _ kind: RecordedCall.Kind,
        _ request: Request,
        _ body: @escaping @Sendable () async throws -> String
    ) -> RecordedCall {
        let call = RecordedCall(number, kind, request)
        call.run(body)
        return call
    }

    private func connection(
        _ number: Int, _ kind: RecordedCall.Kind, _ request: Request, _ file: URL, _ random: inout SplitMix
    ) -> RecordedCall {
        let connection =
            kind == .file ? engine.connection(for: request, to: file) : engine.connection(for: request)
        let call = RecordedCall(number, kind, request, connection)
        connection.queuePriority = [.normal, .normal, .high, .low][random.below(4)]
        // At most one waits for each connection: connections that begin at the same time have no order.
        if kind == .connection, random.below(4) == 0, let other = free.last {
            connection.failedDependencies = random.below(2) == 0 ? .cancel : .ignore
            connection.addDependency(other)
        }
        call.watch(since: begin)
        engine.start(connection)
        return call
    }

    /// The connections that have not finished, and that are no dependency.
    private var free: [Connection] {
        let connections = calls.compactMap(\.connection).filter { !$0.isFinished }
        let awaited = connections.flatMap(\.dependencies)
        return connections.filter { connection in !awaited.contains { $0 === connection } }
    }

    private func again(_ random: inout SplitMix) -> String? {
        let over = calls.filter { $0.isOver && $0.kind == .connection && $0.request.replay == .never }
        guard !over.isEmpty else { return nil }
        let call = over[random.below(over.count)]
        guard let copy = call.connection?.copied() else { return nil }
        let next = RecordedCall(calls.count + 1, .connection, copy.request, copy)
        next.watch(since: begin)
        engine.start(copy)
        calls.append(next)
        return "call \(next.number) again \(call.number)"
    }

    // MARK: Answers

    /// The exchanges on the wire, sorted; those that cannot be distinguished form one group, and get the same answer.
    private var groups: [[HeldTransport.Held]] {
        let named = Dictionary(grouping: transport.held) { "\($0.request.recorded) \($0.isStreaming) \($0.step)" }
        return named.sorted { $0.key < $1.key }.map(\.value)
    }

    private func answer(_ random: inout SplitMix) -> String? {
        let moods: [Mood] = Array(repeating: .good, count: 14) + Mood.allCases
        return answer(&random, moods[random.below(moods.count)])
    }

    private func answer(_ random: inout SplitMix, _ mood: Mood) -> String? {
        let groups = groups
        guard !groups.isEmpty else { return nil }
        let group = groups[random.below(groups.count)]
        guard let first = group.first else { return nil }
        let count = group.count > 1 ? " × \(group.count)" : ""
        let name = "\(first.request.method.rawValue) \(first.request.url.short)\(count)"
        guard first.isStreaming else {
            for held in group { transport.answer(held.number, server.answer(to: held.request, mood)) }
            return "answer \(name) \(mood)"
        }
        let isBroken = mood != .good && mood != .half && mood != .slowHalf
        let error = TransportError(.truncatedBody, "broken", serverMayHaveActed: true)
        for held in group { transport.end(held.number, with: isBroken ? error : nil) }
        return "\(isBroken ? "break" : "end") body \(name)"
    }

    func bringNearerToEnd() async -> String {
        var random = random(1)
        if let name = answer(&random, .good) { return name }
        await advance(by: .seconds(2))
        return "wait 2 s"
    }

    // MARK: Changes

    private func change(
        _ isMeant: (Connection) -> Bool, _ name: String, _ random: inout SplitMix, _ body: (Connection) -> Void
    ) -> String? {
        let meant = calls.filter { $0.connection.map(isMeant) ?? false }
        guard !meant.isEmpty else { return nil }
        let call = meant[random.below(meant.count)]
        call.connection.map(body)
        return "\(name) \(call.number)"
    }

    private func cancel(_ random: inout SplitMix) -> String? {
        if random.below(6) == 0 {
            return "cancel red \(engine.cancel { $0.request.tags.contains("red") })"
        }
        let open = calls.filter { !$0.isOver }
        guard !open.isEmpty else { return nil }
        let call = open[random.below(open.count)]
        call.cancel()
        return "cancel \(call.number)"
    }

    private func changeLanes(_ random: inout SplitMix) -> String {
        let lane: Lane = random.below(2) == 0 ? "narrow" : "default"
        switch random.below(8) {
        case 0, 1:
            engine.lanes.pause(lane)
            return "pause lane \(lane)"
        case 2, 3, 4:
            engine.lanes.resume(lane)
            return "resume lane \(lane)"
        case 5:
            engine.lanes.pauseAll()
            return "pause all lanes"
        default:
            engine.lanes.resumeAll()
            return "resume all lanes"
        }
    }

    func resumeAll() {
        engine.lanes.resumeAll()
        for lane: Lane in ["narrow", "default"] { engine.lanes.resume(lane) }
        for call in calls { call.connection.map { connection in while connection.isPaused { connection.resume() } } }
    }

    private func wait(_ random: inout SplitMix) async -> String {
        let milliseconds = [40, 120, 1000, 2500, 6000][random.below(5)]
        await advance(by: .milliseconds(milliseconds))
        return "wait \(milliseconds) ms"
    }

    private func changePage(_ random: inout SplitMix) -> String {
        let page = pages[random.below(pages.count)]
        server.change(page.target ?? page.url)
        return "change \(page)"
    }

    private func tendCache(_ random: inout SplitMix) async -> String {
        let request = Request(pages[random.below(pages.count)].url)
        switch random.below(6) {
        case 0, 1: return "invalidate \(request.url.short) \(await said { try await self.engine.invalidate(request) })"
        case 2: return "purge \(request.url.short) \(await said { try await self.engine.purge(request) })"
        case 3: return "invalidate red \(await said { try await self.engine.cache?.invalidate(.tag("red")) ?? 0 })"
        case 4: return "purge b.test \(await said { try await self.engine.cache?.purge(.host("b.test")) ?? 0 })"
        default: return "forget ann \(await said { try await self.engine.forget(identity: "ann") })"
        }
    }

    private func said(_ body: () async throws -> some Any) async -> String {
        do { return "\(try await body())" } catch { return RecordedCall.text(error) }
    }

    // MARK: The queue

    private func replay() -> String? {
        guard !calls.contains(where: { $0.kind == .replay && !$0.isOver }) else { return nil }
        guard let replayer = try? engine.replayer(width: 1) else { return nil }
        let call = RecordedCall(calls.count + 1, .replay, Request("https://a.test/"))
        call.run {
            let summary = await replayer.replay()
            return "finished \(summary.finished), postponed \(summary.postponed), dead \(summary.dead), "
                + "needs review \(summary.needsReview)"
        }
        calls.append(call)
        return "call \(call.number) replay"
    }

    private func tendQueue(_ random: inout SplitMix) async -> String? {
        guard let queue = try? engine.queue() else { return nil }
        let all = ReplayFilter(includesSignedOut: true)
        guard let jobs = try? queue.jobs(all, limit: 1000), !jobs.isEmpty else { return nil }
        let id = jobs[random.below(jobs.count)].id
        switch random.below(6) {
        case 0: return "retry job \(id) \(await said { try await queue.retry(id) })"
        case 1: return "hold job \(id) \(await said { try await queue.hold(id) })"
        case 2: return "release job \(id) \(await said { try await queue.release(id) })"
        case 3: return "discard job \(id) \(await said { try await queue.discard(id) })"
        case 4: return "redrive job \(id) \(await said { try await queue.redrive(id) })"
        default: return "release ann \(await said { try await queue.release(.identity("ann")) })"
        }
    }
}

/// The output of typed calls.
private struct Item: Decodable, Sendable, CustomStringConvertible {
    var version: Int?
    var text: String?
    var made: Bool?

    var description: String { "\(version ?? 0) \((text ?? "").prefix(8)) \(made ?? false)" }
}

extension Connection {
    fileprivate var pausable: Bool { !isPaused && !isFinished }
    fileprivate var isWaiting: Bool { !isFinished }
}

extension Request {
    /// Whether others may wait for the same exchange.
    var isShareable: Bool {
        (method == .get || method == .head) && cache.mode != .reload && cache.mode != .noStore
    }
}
