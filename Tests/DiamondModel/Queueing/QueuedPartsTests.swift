import Diamond
import DiamondModel
import DiamondTestSupport
import Testing

/// Queued changes of nested objects, collections and values that hold objects.
@ModelActor
@Suite("Queued changes of an object's parts", .limit(minutes: 5)) struct QueuedPartsTests {
    private let api = QueuedAPI()

    @Test(arguments: OrderPart.allCases)
    func `an object shows waiting changes of its parts after a restart`(_ part: OrderPart) async throws {
        api.put(OrderPart.json, at: 7)
        var program = try api.start()
        let order = try program.context.model(ByHand.Order.self, from: OrderPart.json)
        api.isOnline = false
        try await order.save(.queued) { $0.change(part) }
        let visible = order.json
        await program.engine.close()
        program = try api.start()
        let restored = try program.context.model(ByHand.Order.self, from: OrderPart.json)
        #expect(restored.json == visible && restored.isDirty && restored.hasQueuedSaves)
        // Nothing else remains to be sent.
        try await restored.save(.queued)
        #expect(try program.waiting.count == 1)
        api.isOnline = true
        try await program.drain(ByHand.Order.self)
        #expect(api.calls.map(\.method) == ["PATCH"])
        #expect(api.notes[7] == restored.json && !restored.isDirty && restored.changedJSON == [:])
        #expect(restored.lines.allModels.allSatisfy { !$0.isNew })
    }

    @Test func `a later waiting change of the members is shown, and the app's later ones stay`() async throws {
        api.put(OrderPart.json, at: 7)
        var program = try api.start()
        let order = try program.context.model(ByHand.Order.self, from: OrderPart.json)
        api.isOnline = false
        try await order.save(.queued) { $0.change(.newMember, to: "sugar") }
        try await order.save(.queued) { $0.change(.removedMember) }
        await program.engine.close()
        program = try api.start()
        let restored = try program.context.model(ByHand.Order.self, from: OrderPart.json)
        #expect(restored.lines.map(\.name) == ["rice", "sugar"])
        restored.change(.newMember, to: "milk")
        try restored.merge(OrderPart.json)
        #expect(restored.lines.map(\.name) == ["rice", "sugar", "milk"])
        api.isOnline = true
        try await restored.save(.queued)
        try await program.drain(ByHand.Order.self)
        #expect(restored.lines.map(\.name) == ["rice", "sugar", "milk"])
        #expect(api.notes[7] == restored.json && !restored.isDirty)
    }

    @Test(arguments: [false, true])
    func `a value that holds an object replaces that of an unsent call`(_ isNew: Bool) async throws {
        let program = try api.start()
        api.put(["id": 7, "options": [:], "place": ["x": 0, "y": 0]], at: 7)
        let setting: Setting = try isNew ? Setting() : program.context.model(Setting.self, from: api.notes[7] ?? .null)
        if isNew { try program.context.register(setting) }
        api.isOnline = false
        try await setting.save(.queued) { ($0.options, $0.x) = (["a": 1, "b": 2], 1) }
        try await setting.save(.queued) { ($0.options, $0.y) = (["a": 1], 2) }
        let job = try #require(try program.waiting.first)
        let body: JSONValue = ["options": ["a": 1], "place": ["x": 1, "y": 2]]
        #expect(try program.queue.request(of: job.id)?.body?.jsonValue == ["setting": body])
    }
}

/// An object with a value that holds an object, and two properties in one object, in a request that wraps it.
private final class Setting: Model {
    static let options = Property(\Setting.options, "options")
    static let x = Property(\Setting.x, .path("place", "x"))
    static let y = Property(\Setting.y, .path("place", "y"))

    private var _options: [String: Int] = [:]
    private var _x = 0
    private var _y = 0

    var options: [String: Int] {
        get { read(Self.options, from: _options) }
        set { write(Self.options, from: _options, to: newValue) { _options = $0 } }
    }

    var x: Int {
        get { read(Self.x, from: _x) }
        set { write(Self.x, from: _x, to: newValue) { _x = $0 } }
    }

    var y: Int {
        get { read(Self.y, from: _y) }
        set { write(Self.y, from: _y, to: newValue) { _y = $0 } }
    }

    override class var resource: Request? { Request("notes") }

    override func request(for call: ModelCall, body: JSONValue?) throws -> Request {
        try super.request(for: call, body: body.map { ["setting": $0] })
    }

    override class func object(in request: Request) throws -> JSONValue? { request.body?.jsonValue?["setting"] }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _options = visitor.visit(Self.options, with: _options)
        _x = visitor.visit(Self.x, with: _x)
        _y = visitor.visit(Self.y, with: _y)
    }
}
