import Diamond
import DiamondModel
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes

/// A server of albums and their tracks that honors `Idempotency-Key`, with faults that a seed selects, and the programs
/// that use it. The programs share a store.
final class OfflineServer: Sendable {
    /// The answer to a call, and whether the server acts before it.
    enum Fate: Sendable, CaseIterable {
        /// 200, 201 or 204 for a deletion, or 404 for an object that is not there.
        case answered
        /// The same without a body: 201 with `Location`, 204.
        case answeredWithoutBody
        case notFound, conflict, invalid, broken
        case lostBefore, lostAfter

        static let refusals: Set = [Fate.notFound, .conflict, .invalid]

        var status: Int? {
            switch self {
            case .notFound: 404
            case .conflict: 409
            case .invalid: 422
            case .broken: 500
            default: nil
            }
        }
    }

    /// A call that has reached the server.
    struct Call: Sendable {
        let method: String
        /// The path without the query.
        let path: String
        let body: [String: JSONValue]
        let key: String?
        let fate: Fate
        /// The status of the answer; `nil` for none.
        let status: Int?
        /// Whether the server has acted, by this call or an earlier one with its key.
        let hasActed: Bool
        /// The id of the object that the call has created.
        let id: Int?
        /// The tags of the objects in the answer.
        let tags: [String]
    }

    struct State {
        var isOnline = true
        /// The share of calls with another fate than `answered`, in percent.
        var faults = 0
        /// Whether the answer to a POST may be lost: another attempt has the same key.
        var losesPosts = true
        let seed: UInt64
        var step = 0
        var rows: [Int: [String: JSONValue]] = [:]
        var calls: [Call] = []
        /// What must not happen, whatever the answers are.
        var violations: [String] = []
        fileprivate var lastID = 6
        fileprivate var acts: [String: OfflineServer.Act] = [:]
        fileprivate var attempts: [String: Int] = [:]
    }

    /// The effect of the first call with a key.
    fileprivate struct Act {
        let call: String
        let answer: StubAPI.Answer
        let id: Int?
    }

    /// A run of a program.
    struct Program {
        let engine: Engine
        let context: ModelContext
        let queue: ReplayQueue
        let session: QueuedAPI.Session
    }

    let store = TemporaryStore()
    private let clock = TestClock()
    private let state: Guarded<State>

    init(seed: UInt64) { state = Guarded(State(seed: seed)) }

    func withState<Value>(_ body: (inout State) -> Value) -> Value { state.withLock { body(&$0) } }

    func advance(by duration: Duration) { clock.advance(by: duration) }

    /// Removes and returns the calls since the last time.
    func takeCalls() -> [Call] {
        state.withLock { state in
            defer { state.calls = [] }
            return state.calls
        }
    }

    /// Starts a program with a signed-in user.
    func start(as user: String, replays: Engine.Configuration.Replays = .manually) throws -> Program {
        let transport = StubTransport { [self] request throws(TransportError) in
            let answer = try state.withLock { (state) throws(TransportError) in try state.answer(to: request) }
            return .stub(status: answer.status, headers: answer.headers, body: answer.text)
        }
        var configuration = Engine.Configuration(testing: transport, clock: clock, store: store)
        configuration.baseURL = "https://api.example.com/"
        configuration.replays = replays
        let session = QueuedAPI.Session()
        session.signIn(user)
        configuration.credentials = session
        let engine = Engine(configuration)
        let context = ModelContext(engine: engine) { [clock] in clock.date }
        return Program(engine: engine, context: context, queue: try engine.queue(), session: session)
    }
}

extension OfflineServer.State {
    fileprivate mutating func answer(to request: TransportRequest) throws(TransportError) -> StubAPI.Answer {
        guard isOnline else { throw TransportError(.cannotConnect, "offline", serverMayHaveActed: false) }
        let sent = StubAPI.Call(request)
        var body: [String: JSONValue] = [:]
        if case .object(let members)? = sent.body { body = members }
        let key = request.headers[.idempotencyKey]
        let path = sent.path.prefix { $0 != "?" }
        check(sent)
        let text = "\(sent.method) \(path) \(body.sorted { $0.key < $1.key })"
        let fate = fate(of: sent, body, isKnown: key.map { acts[$0] != nil })
        var answer = StubAPI.Answer(fate.status ?? 200)
        var id: Int?
        var hasActed = false
        if fate.status == nil, fate != .lostBefore {
            if let key, let act = acts[key] {
                if act.call != text { violations.append("a key was used for \(act.call) and \(text)") }
                (answer, id, hasActed) = (act.answer, act.id, true)
            } else {
                (answer, id) = perform(sent, path.split(separator: "/").map(String.init), body)
                hasActed = answer.status < 300
                if let key, hasActed { acts[key] = OfflineServer.Act(call: text, answer: answer, id: id) }
            }
        } else if let key {
            hasActed = acts[key] != nil
        }
        if fate == .answeredWithoutBody, answer.status < 300, sent.method != "GET" { answer = answer.withoutBody }
        let isLost = fate == .lostBefore || fate == .lostAfter
        calls.append(
            OfflineServer.Call(
                method: sent.method, path: String(path), body: body, key: key, fate: fate,
                status: isLost ? nil : answer.status, hasActed: hasActed, id: id,
                tags: sent.method == "GET" && !isLost ? answer.tags : []))
        if isLost { throw TransportError(.connectionLost, "lost", serverMayHaveActed: true) }
        return answer
    }

    private mutating func check(_ call: StubAPI.Call) {
        if call.path.contains("local") { violations.append("a local id in \(call.method) \(call.path)") }
        if let body = call.body, "\(body)".contains("local:") { violations.append("a local id in \(body)") }
    }

    /// Draws the fate of a call: the same for a seed, in whatever order calls of different objects arrive.
    ///
    /// - Parameter isKnown: Whether an earlier call with its key has acted; `nil` for a call without a key.
    private mutating func fate(of call: StubAPI.Call, _ body: [String: JSONValue], isKnown: Bool?) -> OfflineServer.Fate
    {
        // The ids depend on the order.
        let path = call.path.prefix { $0 != "?" }.split(separator: "/").map { part in
            Int(part).flatMap { rows[$0]?["tag"] }.map { "\($0)" } ?? String(part)
        }
        let name = "\(step) \(call.method) \(path) \(body["tag"] ?? .null)"
        attempts[name, default: 0] += 1
        // FNV-1a.
        let hash = "\(name) \(attempts[name] ?? 0)".utf8.reduce(UInt64(0xCBF2_9CE4_8422_2325)) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
        var random = SplitMix(state: seed ^ hash)
        guard random.below(100) < faults else { return .answered }
        var fates: [OfflineServer.Fate] = [.answeredWithoutBody, .answeredWithoutBody, .broken, .lostBefore]
        if call.method == "GET" { fates = [.broken, .lostBefore] }
        if losesPosts ? call.method != "GET" : ["PATCH", "DELETE"].contains(call.method) {
            fates += [.lostAfter, .lostAfter]
        }
        // A server that knows the key does not refuse what it has done.
        if isKnown != true, call.method != "GET" { fates += [.conflict, .invalid, .invalid] }
        // An object that was deleted by a server that still has it would come back.
        if isKnown != true, ["POST", "PATCH"].contains(call.method) { fates.append(.notFound) }
        if isKnown == true { fates.append(.conflict) }
        return fates[random.below(fates.count)]
    }

    private mutating func perform(
        _ call: StubAPI.Call, _ path: [String], _ body: [String: JSONValue]
    ) -> (StubAPI.Answer, Int?) {
        let ids = path.compactMap { Int($0) }
        let isTrack = path.count > 2
        let missing = (StubAPI.Answer(404), Int?.none)
        guard path.first == "albums", path.count <= 4, ids.count == path.count / 2 else { return missing }
        let album = isTrack ? JSONValue(ids[0]) : JSONValue?.none
        if path.count % 2 == 1 {
            // The list of an album that is gone.
            if isTrack, rows[ids[0]] == nil { return missing }
            guard call.method == "POST" else { return (list(of: album, call.path), nil) }
            lastID += 1
            var row = body
            row["id"] = JSONValue(lastID)
            if row["album"] != album { violations.append("\(row) was created in the list \(call.path)") }
            rows[lastID] = row
            return (StubAPI.Answer(201, .object(row), headers: [.location: "/\(call.path)/\(lastID)"]), lastID)
        }
        guard let id = ids.last, var row = rows[id], row["album"] == album else { return missing }
        switch call.method {
        case "GET": break
        case "PATCH":
            row.merge(body) { $1 }
            rows[id] = row
        case "DELETE":
            rows[id] = nil
            return (StubAPI.Answer(204), nil)
        default: return (StubAPI.Answer(405), nil)
        }
        return (StubAPI.Answer(200, .object(row)), nil)
    }

    /// Returns a list, or a page of it.
    private func list(of album: JSONValue?, _ path: String) -> StubAPI.Answer {
        let rows = rows.filter { $0.value["album"] == album }.sorted { $0.key < $1.key }
        var found = rows.map { JSONValue.object($0.value) }
        let parameters = URLComponents(string: path)?.queryItems ?? []
        let numbers = ["page", "per_page"].map { name in
            parameters.first { $0.name == name }?.value.flatMap { Int($0) }
        }
        if let page = numbers[0], let size = numbers[1] {
            found = Array(found.dropFirst((page - 1) * size).prefix(size))
        }
        return StubAPI.Answer(200, .array(found), headers: [.cacheControl: "max-age=0"])
    }
}

extension StubAPI.Answer {
    fileprivate var withoutBody: StubAPI.Answer {
        var answer = StubAPI.Answer(status == 201 ? 201 : 204)
        answer.headers[.location] = headers[.location]
        return answer
    }

    /// The tags of the objects in the body.
    fileprivate var tags: [String] {
        let json = try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
        let objects = if case .array(let elements)? = json { elements } else { json.map { [$0] } ?? [] }
        return objects.compactMap { object -> String? in
            guard case .object(let members) = object, case .string(let tag)? = members["tag"] else { return nil }
            return tag
        }
    }
}
