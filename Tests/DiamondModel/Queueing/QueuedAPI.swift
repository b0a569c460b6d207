import Diamond
import DiamondModel
import DiamondSQLite
import DiamondTesting
import Foundation
import HTTPTypes

/// An API of notes that a test can take offline, and the programs that use it. The programs share a store. Each has its
/// own engine and context, as after a restart.
final class QueuedAPI: Sendable {
    /// A run of the program.
    struct Program {
        let engine: Engine
        let context: ModelContext
        let queue: ReplayQueue
        let session: Session

        /// The calls whose answers wait to be collected.
        var waiting: [ReplayJob] {
            get throws { try queue.jobsStoringAnswers().filter { !$0.isConsumed }.map(\.job) }
        }

        /// Sends all waiting calls, whatever time they wait for.
        func replay() async throws {
            for job in try queue.jobs(ReplayFilter(states: [.waiting])) { try await queue.retry(job.id) }
            await (try engine.replayer()).replay()
        }

        /// Sends all calls and collects the answers, until no call waits.
        func drain(_ type: Model.Type) async throws {
            while try !waiting.isEmpty {
                try await replay()
                try await context.collectSaves(of: type)
            }
        }
    }

    /// The signed-in user of a program.
    final class Session: CredentialProvider {
        private let user = Guarded<String?>(nil)

        func signIn(_ name: String?) { user.withLock { $0 = name } }

        func identity(for request: Request) async -> String? { user.withLock { $0 } }
        func secret(_ name: String, for identity: String?) async -> String? { nil }
    }

    let store = TemporaryStore()
    private let clock = TestClock()
    private let state = Guarded(State())

    struct State {
        var isOnline = true
        /// The time by which the wall clock is ahead of the machine's, in seconds.
        var wallLead = 0.0
        var calls: [StubAPI.Call] = []
        var notes: [Int: JSONValue] = [:]
        /// The id of the last new line of an order.
        var lastLine = 100
        /// The answer to the next call, in place of the usual one.
        var answer: StubAPI.Answer?
        /// A function to await before the next answer.
        var gate: (@Sendable () async -> Void)?
    }

    var isOnline: Bool {
        get { state.withLock { $0.isOnline } }
        set { state.withLock { $0.isOnline = newValue } }
    }

    var calls: [StubAPI.Call] { state.withLock { $0.calls } }
    var notes: [Int: JSONValue] { state.withLock { $0.notes } }

    /// Stores an object on the server.
    func put(_ note: JSONValue, at id: Int) { state.withLock { $0.notes[id] = note } }

    func advance(by duration: Duration) { clock.advance(by: duration) }

    /// Sets the wall clock ahead, or back. The machine's clock does not change.
    func setWallClock(by seconds: Double) { state.withLock { $0.wallLead += seconds } }

    private var date: Date { clock.date + state.withLock { $0.wallLead } }

    func answerOnce(_ answer: StubAPI.Answer) { state.withLock { $0.answer = answer } }

    func refuseNothing() { state.withLock { $0.answer = nil } }

    func waitOnce(_ gate: @escaping @Sendable () async -> Void) { state.withLock { $0.gate = gate } }

    /// Starts a program with a signed-in user; `nil` for none.
    func start(as user: String? = nil, replaying: Engine.Configuration.Replays = .manually) throws -> Program {
        let transport = StubTransport { [self] request throws(TransportError) in
            guard isOnline else {
                throw TransportError(.cannotConnect, "offline", serverMayHaveActed: false)
            }
            let gate = state.withLock { state in
                defer { state.gate = nil }
                return state.gate
            }
            let call = StubAPI.Call(request)
            await gate?()
            let answer = state.withLock { $0.answer(to: call) }
            return .stub(status: answer.status, headers: answer.headers, body: answer.text)
        }
        var configuration = Engine.Configuration(testing: transport, clock: clock, store: store)
        configuration.now = { [self] in date }
        configuration.baseURL = "https://api.example.com/"
        configuration.replays = replaying
        let session = Session()
        session.signIn(user)
        if user != nil { configuration.credentials = session }
        let engine = Engine(configuration)
        return Program(
            engine: engine, context: ModelContext(engine: engine) { [self] in date }, queue: try engine.queue(),
            session: session)
    }
}

extension QueuedAPI.State {
    mutating func answer(to call: StubAPI.Call) -> StubAPI.Answer {
        calls.append(call)
        if let answer {
            self.answer = nil
            return answer
        }
        let id = call.path.split(separator: "/").last.flatMap { Int($0) }
        switch (call.method, id) {
        case ("GET", nil): return StubAPI.Answer(200, .array(notes.sorted { $0.key < $1.key }.map(\.value)))
        case ("GET", let id?): return notes[id].map { StubAPI.Answer(200, $0) } ?? StubAPI.Answer(404)
        case ("POST", nil):
            let id = notes.count + 7
            guard case .object(var note)? = call.body else { return StubAPI.Answer(400) }
            note["id"] = .integer(Int64(id))
            nameLines(of: &note)
            notes[id] = .object(note)
            return StubAPI.Answer(201, .object(note))
        case ("PUT", let id?):
            notes[id] = call.body
            return StubAPI.Answer(204)
        case ("PATCH", let id?):
            guard case .object(var note)? = notes[id], case .object(let change)? = call.body else {
                return StubAPI.Answer(404)
            }
            note.merge(change) { $1 }
            nameLines(of: &note)
            notes[id] = .object(note)
            return StubAPI.Answer(200, .object(note))
        case ("DELETE", let id?):
            return StubAPI.Answer(notes.removeValue(forKey: id) == nil ? 404 : 204)
        default:
            return StubAPI.Answer(404)
        }
    }
}

extension QueuedAPI.State {
    /// Gives the new elements of an order their ids.
    private mutating func nameLines(of order: inout [String: JSONValue]) {
        guard case .array(let lines)? = order["lines"] else { return }
        order["lines"] = .array(
            lines.map { line in
                guard case .object(var line) = line else { return line }
                if line["id"] == nil || line["id"] == .null {
                    lastLine += 1
                    line["id"] = .integer(Int64(lastLine))
                }
                return .object(line)
            })
    }
}

/// A note of a server that does not support `Idempotency-Key`.
final class Memo: Model {
    static let text = Property(\Memo.text, "text")
    private var _text = ""

    var text: String {
        get { read(Self.text, from: _text) }
        set { write(Self.text, from: _text, to: newValue) { _text = $0 } }
    }

    override class var resource: Request? {
        var request = Request("notes")
        request.replay.keyLifetime = nil
        request.replay.metadata = ["screen": "memos", "id": "mine"]
        return request
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _text = visitor.visit(Self.text, with: _text)
    }
}
