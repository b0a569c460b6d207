import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// Random clients of a gateway that ask at the same time, for bodies of any size that come in pieces, and read slowly or
/// leave. Every byte of a body says which response it is from, and an oracle knows which response may reach whom.
@Suite("Users of one gateway", .limit(minutes: 5)) struct GatewayUsersTests {
    private static let runs = CacheKind.allCases.flatMap { kind in (0..<6).map { (kind, UInt64($0)) } }

    @Test(arguments: runs)
    func `a shared body reaches its users alone, and as a whole`(kind: CacheKind, number: UInt64) async throws {
        let seed = Effort.seed &+ number
        for round in 0..<Effort.rounds(2, soaking: 60) {
            let run = GatewayRun(kind, seed: seed &+ UInt64(round * 1000))
            try await run.play()
            #expect(run.faults == [], "seed \(seed), round \(round)")
            #expect(run.isIdle, "seed \(seed), round \(round)")
        }
    }
}

private final class GatewayRun: Sendable {
    struct Origin {
        let request: HTTPFields
        let headers: HTTPFields
        let size: Int
    }

    private struct State {
        var random: SplitMix
        /// The responses. Every byte of a body is the place of its response, from 1 on.
        var responses: [Origin] = []
        var faults: [String] = []
    }

    private let kind: CacheKind
    private let clock = ManualClock()
    private let temporary = TemporaryStore()
    private let state: Guarded<State>
    private let idle = Guarded(false)

    init(_ kind: CacheKind, seed: UInt64) {
        self.kind = kind
        state = Guarded(State(random: SplitMix(state: seed)))
    }

    var faults: [String] { state.withLock { Array($0.faults.prefix(5)) } }
    var isIdle: Bool { idle.withLock { $0 } }

    private func below(_ count: Int) -> Int { state.withLock { $0.random.below(count) } }
    private func pick<Value: Sendable>(_ values: [Value]) -> Value { values[below(values.count)] }
    private func note(_ fault: String) { state.withLock { $0.faults.append(fault) } }

    func play() async throws {
        let engine = temporary.engine(
            StubTransport { [self] request throws(TransportError) in try await answer(request) }, clock: clock
        ) {
            $0.cacheKind = kind
            $0.memoryCapacity = 1 << 20
            $0.makeGateway(width: 64)
        }
        for _ in 0..<8 {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0...below(12) { group.addTask { [self] in await forward(over: engine) } }
            }
            clock.advance(by: TimeInterval(below(8)))
        }
        await engine.waitForRefreshes()
        idle.withLock { $0 = engine.lanes.running == 0 && engine.activity.counts.inFlight == 0 }
        await engine.close()
    }

    private func forward(over engine: Engine) async {
        var headers: HTTPFields = [:]
        headers[.authorization] = pick([nil, nil, nil, "one", "two"])
        headers[.userAgent] = pick(["a", "b"])
        let request = Request(forwarding: .get, origin: "http://h", target: "/\(below(2))", headers: headers)
        let client = RandomClient(pauses: pick([0, 0, 1, 5]))
        let task = Task { try await engine.forward(request, target: "/", upload: nil, to: client) }
        if below(10) == 0 {
            for _ in 0..<below(20) { await Task.yield() }
            task.cancel()
        }
        // A gateway ends without an error when its client has left.
        let isWhole = (try? await task.value) != nil && !task.isCancelled
        check(client, isWhole: isWhole, for: headers)
    }

    private func check(_ client: RandomClient, isWhole: Bool, for headers: HTTPFields) {
        let (head, body) = client.received
        guard let head, head.status == .ok else { return }
        guard let place = body.first, body == Data(repeating: place, count: body.count) else {
            return isWhole ? note(body.isEmpty ? "no body" : "a mixed body") : ()
        }
        let origin = state.withLock { $0.responses[Int(place) - 1] }
        if isWhole, body.count != origin.size { note("\(body.count) bytes of \(origin.size)") }
        if origin.request != headers, !origin.mayReach(headers, kind) {
            note("\(place) from \(origin.request) to \(headers): \(origin.headers)")
        }
        if head.headers[.setCookie] != nil, origin.request != headers, head.cacheStatus?.isCollapsed == true,
            kind == .shared
        {
            note("a cookie of \(place)")
        }
    }

    // MARK: The origin server

    private func answer(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        for _ in 0..<below(10) { await Task.yield() }
        guard below(20) > 0 else { throw TransportError(.connectionLost, "reset") }
        let size = pick([1, 1000, 300_000, 1_500_000])
        var headers: HTTPFields = [.cacheControl: control(), .contentLength: "\(size)"]
        headers[.vary] = pick([nil, nil, nil, "User-Agent", "Authorization", "*"])
        if below(8) == 0 { headers[.setCookie] = "a=b" }
        let place = state.withLock { state in
            state.responses.append(Origin(request: request.headers, headers: headers, size: size))
            return state.responses.count
        }
        let isBroken = below(15) == 0
        let (stream, continuation) = AsyncThrowingStream<Data, any Error>.makeStream()
        for start in stride(from: 0, to: isBroken ? size / 2 : size, by: 50_000) {
            continuation.yield(Data(repeating: UInt8(place), count: min(50_000, size - start)))
        }
        let broken = TransportError(.connectionLost, "broken", serverMayHaveActed: true)
        continuation.finish(throwing: isBroken ? broken : nil)
        return TransportResponse(status: .ok, headers: headers, body: BodyStream(stream))
    }

    private func control() -> String {
        let lifetime = pick(["max-age=0", "max-age=5", "max-age=5", "max-age=60", "s-maxage=5", "no-cache"])
        return lifetime + pick(["", "", ", public", ", private", ", must-revalidate", ", no-store"])
    }
}

extension GatewayRun.Origin {
    /// Whether the response may reach the sender of another request.
    fileprivate func mayReach(_ other: HTTPFields, _ kind: CacheKind) -> Bool {
        let control = CacheControl(headers)
        let vary = headers[values: .vary].flatMap(\.listElements)
        guard !control.noStore, !vary.contains("*"), kind == .private || !control.isPrivate else { return false }
        // The key of a private cache has the credentials.
        guard kind == .shared || request[.authorization] == other[.authorization] else { return false }
        let isAuthorized = kind == .shared && request[.authorization] != nil
        guard !isAuthorized || control.isPublic || control.mustRevalidate || control.sharedMaxAge != nil else {
            return false
        }
        return vary.allSatisfy { name in
            HTTPField.Name(name).map { request[$0] == other[$0] } ?? false
        }
    }
}

/// A client that reads slowly.
private final class RandomClient: GatewayClient {
    let hasSentBody = true
    private let content = Guarded<(head: Response?, body: Data)>((nil, Data()))
    private let pauses: Int

    init(pauses: Int) { self.pauses = pauses }

    var received: (head: Response?, body: Data) { content.withLock { $0 } }

    func begin(_ head: Response) async throws { content.withLock { $0.head = head } }

    func write(_ piece: Data) async throws {
        for _ in 0..<pauses { await Task.yield() }
        try Task.checkCancellation()
        content.withLock { $0.body += piece }
    }
}
