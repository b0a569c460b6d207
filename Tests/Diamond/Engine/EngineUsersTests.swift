import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

@testable import Diamond

/// Random runs of an engine with several users. The origin server makes every byte of a body say which response it is
/// from, and an oracle knows which response may reach which user.
@Suite("Users of one cache", .limit(minutes: 5)) struct EngineUsersTests {
    /// The settings of a run.
    struct Setting: Sendable, CustomTestStringConvertible {
        let kind: CacheKind
        let preset: IdentityPreset
        let number: Int

        var testDescription: String { "\(kind) \(preset) \(number)" }
    }

    private static let settings = CacheKind.allCases.flatMap { kind in
        IdentityPreset.allCases.flatMap { preset in
            (0..<Effort.rounds(5, soaking: 12)).map { Setting(kind: kind, preset: preset, number: $0) }
        }
    }

    @Test(arguments: settings) func `a response for one user never reaches another`(setting: Setting) async throws {
        let seed = Effort.seed &+ UInt64(setting.number)
        let run = UserRun(setting.kind, setting.preset, seed: seed)
        for round in 0..<Effort.rounds(3, soaking: 100) {
            try await run.play(store: TemporaryStore(), seed: seed &+ UInt64(round * 1000))
        }
        #expect(run.faults == [], "seed \(seed)")
        #expect(run.hits > 0)
    }
}

/// The user on whose behalf a request is sent, as far as engine and origin server can know.
private struct User: Hashable, Sendable {
    /// The identity, which the test also sends as `User-Agent`, so that the origin server knows it.
    var identity: String?
    var authorization: String?
    var cookie: String?

    init(identity: String?, authorization: String?, cookie: String?) {
        self.identity = identity
        self.authorization = authorization
        self.cookie = cookie
    }

    init(_ headers: HTTPFields) {
        let agent = headers[.userAgent]
        self.init(
            identity: agent == "Diamond" ? nil : agent, authorization: headers[.authorization], cookie: headers[.cookie]
        )
    }

    /// Whether both requests are one user's: an identity stands for all credentials.
    func isSame(as other: User) -> Bool { identity == other.identity && (identity != nil || self == other) }

    var text: String { "\(identity ?? "-")/\(authorization ?? "-")/\(cookie ?? "-")" }
}

/// A response of the origin server.
private struct Origin: Sendable {
    let user: User
    let url: String
    var headers: HTTPFields

    var control: CacheControl { CacheControl(headers) }

    var vary: [String] { headers[values: .vary].flatMap(\.listElements) }

    /// Whether the response may reach a user.
    func mayReach(_ other: User, _ kind: CacheKind, _ preset: IdentityPreset) -> Bool {
        if user.isSame(as: other) { return true }
        // Keys separate identities, and by default all credentials.
        guard kind == .shared, preset == .http, user.identity == nil, other.identity == nil, !control.isPrivate,
            !control.noStore
        else { return false }
        let isAuthorized = user.authorization != nil
        guard !isAuthorized || control.isPublic || control.mustRevalidate || control.sharedMaxAge != nil else {
            return false
        }
        return (!vary.contains("authorization") || user.authorization == other.authorization)
            && (!vary.contains("cookie") || user.cookie == other.cookie)
    }
}

private final class UserRun: Sendable {
    private struct State {
        var random: SplitMix
        /// The responses of a round. Every byte of a body is the place of its response, from 1 on.
        var responses: [Origin] = []
        var faults: [String] = []
        var hits = 0
    }

    private static let limit = 90
    private static let size = 12

    private let kind: CacheKind
    private let preset: IdentityPreset
    private let clock = ManualClock()
    private let state: Guarded<State>

    init(_ kind: CacheKind, _ preset: IdentityPreset, seed: UInt64) {
        self.kind = kind
        self.preset = preset
        state = Guarded(State(random: SplitMix(state: seed)))
    }

    var faults: [String] { state.withLock { Array($0.faults.prefix(5)) } }
    var hits: Int { state.withLock { $0.hits } }

    private func below(_ count: Int) -> Int { state.withLock { $0.random.below(count) } }
    private func pick<Value: Sendable>(_ values: [Value]) -> Value { values[below(values.count)] }
    private func isOne(in count: Int) -> Bool { below(count) == 0 }
    private func note(_ fault: String) { state.withLock { $0.faults.append(fault) } }

    func play(store: TemporaryStore, seed: UInt64) async throws {
        state.withLock { ($0.random, $0.responses) = (SplitMix(state: seed), []) }
        let transport = StubTransport { [self] request throws(TransportError) in
            for _ in 0..<below(4) { await Task.yield() }
            return try answer(request)
        }
        let engine = store.engine(transport, clock: clock) {
            $0.cacheKind = kind
            $0.identityPreset = preset
            $0.memoryCapacity = isOne(in: 3) ? 0 : 1 << 20
        }
        while state.withLock({ $0.responses.count < Self.limit - 20 }) {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0...below(3) {
                    let request = request()
                    let streams = request.method == .get && isOne(in: 4)
                    group.addTask { [self] in await send(request, over: engine, streams: streams) }
                }
            }
            if isOne(in: 2) { clock.advance(by: TimeInterval(below(8))) }
            if isOne(in: 10) { await engine.waitForRefreshes() }
            if isOne(in: 12) { await engine.cache?.flush() }
        }
        await engine.waitForRefreshes()
        await engine.close()
    }

    // MARK: Requests

    private func request() -> Request {
        let identity: String? = pick([nil, nil, nil, "anna", "ben"])
        var headers: HTTPFields = [:]
        headers[.authorization] = pick([nil, nil, "one", "two"])
        headers[.cookie] = pick([nil, nil, nil, "s=1", "s=2"])
        headers[.userAgent] = identity
        headers[.kind] = pick([nil, "a", "b"])
        if isOne(in: 12) { headers[.cacheControl] = pick(["no-cache", "max-stale", "max-age=3", "no-store"]) }
        var request = Request("http://h/\(below(2))", headers: headers)
        request.identity = identity
        switch below(12) {
        case 0: request.method = .head
        case 1, 2:
            request.method = .post
            request.cache.storesPost = isOne(in: 2)
        case 3, 4, 5: request.headers[.range] = pick(["bytes=0-3", "bytes=4-7", "bytes=8-", "bytes=2-5", "bytes=-4"])
        default: break
        }
        if isOne(in: 4) {
            request.cache.mode = pick([
                .revalidate, .staleWhileRevalidate, .networkElseCache, .cacheElseNetwork, .reload,
            ])
        }
        return request
    }

    private func send(_ request: Request, over engine: Engine, streams: Bool) async {
        let user = User(
            identity: request.identity, authorization: request.headers[.authorization],
            cookie: request.headers[.cookie])
        do {
            if streams {
                let streamed = try await engine.stream(request)
                var body = Data()
                for try await piece in streamed.bytes { body += piece }
                check(body, streamed.headers, streamed.source, for: user, request)
            } else {
                let response = try await engine.send(request)
                check(response.body, response.headers, response.source, for: user, request)
            }
        } catch {
            if let response = error.response { check(response.body, response.headers, .network, for: user, request) }
        }
    }

    // MARK: The oracle

    private func check(
        _ body: Data, _ headers: HTTPFields, _ source: Response.Source, for user: User, _ request: Request
    ) {
        if source != .network { state.withLock { $0.hits += 1 } }
        for place in Set(body).map({ Int($0) }) { check(place, "a byte", for: user, request) }
        if let tag = headers[.eTag].flatMap(Self.place) { check(tag, "the tag", for: user, request) }
        // A field for one user alone must not be in another user's response.
        for name in [HTTPField.Name.setCookie, .owner] {
            guard let place = headers[name].flatMap(Self.place), let origin = response(place) else { continue }
            let isForOne = name == .setCookie || kind == .shared && origin.control.privateFields.contains("x-owner")
            if isForOne, !origin.user.isSame(as: user) { note("\(name) of \(origin.user.text) to \(user.text)") }
        }
    }

    private func check(_ place: Int, _ what: String, for user: User, _ request: Request) {
        guard let origin = response(place) else { return note("\(what) of nobody") }
        guard !origin.mayReach(user, kind, preset) else { return }
        note("\(what) of \(place) from \(origin.user.text) to \(user.text): \(origin.headers), \(request.method)")
    }

    private func response(_ place: Int) -> Origin? {
        state.withLock { place > 0 && place <= $0.responses.count ? $0.responses[place - 1] : nil }
    }

    // The place in a tag such as "7", a cookie such as r=7 or a field such as 7.
    private static func place(_ text: String) -> Int? { Int(text.filter(\.isNumber)) }

    // MARK: The origin server

    private func answer(_ request: TransportRequest) throws(TransportError) -> TransportResponse {
        let user = User(request.headers)
        let tags = (request.headers[.ifNoneMatch] ?? "").split(separator: ",").compactMap { Self.place(String($0)) }
        for place in tags { check(place, "a validator", for: user, Request(request.url, method: request.method)) }
        guard !isOne(in: 15) else { throw TransportError(.connectionLost, "reset") }
        guard !isOne(in: 15) else { return .stub(status: 503, body: "") }
        if let confirmed = tags.isEmpty || isOne(in: 2) ? nil : pick(tags) { return notModified(confirmed) }
        if request.method == .get, isOne(in: 3), let repeated = repeated(for: request, user) { return repeated }
        return made(for: request, user)
    }

    private func notModified(_ place: Int) -> TransportResponse {
        var headers: HTTPFields = [.eTag: "\"\(place)\""]
        if isOne(in: 2) { headers[.cacheControl] = control() }
        return .stub(status: 304, headers: headers, body: "")
    }

    private func made(for request: TransportRequest, _ user: User) -> TransportResponse {
        let place = state.withLock { state in
            state.responses.append(Origin(user: user, url: request.url, headers: [:]))
            return state.responses.count
        }
        var headers: HTTPFields = [.cacheControl: control(), .setCookie: "r=\(place)", .owner: "\(place)"]
        if !isOne(in: 4) { headers[.eTag] = "\"\(place)\"" }
        headers[.vary] = pick([nil, nil, nil, "X-Kind", "X-Kind", "Cookie", "Authorization", "X-Kind, Cookie", "*"])
        if request.method == .post { headers[.contentLocation] = request.url }
        state.withLock { $0.responses[place - 1].headers = headers }
        return sent(headers, place, for: request)
    }

    /// Returns a response that the user has had before, so that its parts can be combined.
    private func repeated(for request: TransportRequest, _ user: User) -> TransportResponse? {
        let known = state.withLock { state in
            state.responses.indices.filter { index in
                let origin = state.responses[index]
                return origin.url == request.url && origin.user == user && origin.headers.contains(.eTag)
            }
        }
        guard !known.isEmpty else { return nil }
        let index = pick(known)
        return response(index + 1).map { sent($0.headers, index + 1, for: request) }
    }

    /// Returns a response, or the range of it that is requested.
    private func sent(_ fields: HTTPFields, _ place: Int, for request: TransportRequest) -> TransportResponse {
        var headers = fields
        let body = Data(repeating: UInt8(place), count: Self.size)
        guard let range = RangeRequest(request.headers), case .bytes(let bytes) = range.selection(of: Self.size),
            !isOne(in: 4)
        else { return .stub(headers: headers, body: body) }
        headers[.contentRange] = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(Self.size)"
        return .stub(status: 206, headers: headers, body: body.prefix(bytes.count))
    }

    private func control() -> String {
        let lifetime = pick(["max-age=0", "max-age=5", "max-age=5", "max-age=60", "s-maxage=5", "no-cache"])
        let sharing = pick([
            "", "", ", public", ", private", ", must-revalidate", ", private=\"X-Owner\"", ", no-store",
        ])
        let stale = pick(["", ", stale-while-revalidate=30", ", stale-if-error=30"])
        return lifetime + sharing + stale
    }
}

extension HTTPField.Name {
    fileprivate static let kind = HTTPField.Name("X-Kind") ?? .cookie
    fileprivate static let owner = HTTPField.Name("X-Owner") ?? .cookie
}
