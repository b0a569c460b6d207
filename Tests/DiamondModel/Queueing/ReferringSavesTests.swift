import Diamond
import DiamondModel
import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import HTTPTypes
import Testing

/// Queued saves of objects that refer to objects without a server id.
@ModelActor
@Suite("Saves that refer to new objects", .limit(minutes: 5)) struct ReferringSavesTests {
    private let api = QueuedAPI()

    private func newErrand(_ program: QueuedAPI.Program, _ title: String = "shop") throws -> Errand {
        let errand = Errand()
        errand.title = title
        try program.context.register(errand)
        return errand
    }

    private func newRemark(_ program: QueuedAPI.Program, of errand: Errand?) throws -> Remark {
        let remark = Remark()
        remark.text = "milk"
        remark.errand = errand?.typedID
        try program.context.register(remark)
        return remark
    }

    private func remarks(_ program: QueuedAPI.Program, of errand: Errand) -> ModelCollection<ListedNote> {
        let list = ModelCollection<ListedNote>(context: program.context)
        list.source = PageSource(program.engine, Request("errands/\(errand.modelID)/remarks"))
        return list
    }

    /// Which process sends the calls.
    enum Sender: CaseIterable { case own, laterRun, otherProcess }

    /// Sends the calls, and returns the program that collects the answers.
    private func send(_ program: QueuedAPI.Program, by sender: Sender) async throws -> QueuedAPI.Program {
        api.isOnline = true
        switch sender {
        case .own: try await program.replay()
        case .laterRun:
            await program.engine.close()
            let later = try api.start()
            try await later.replay()
            return later
        case .otherProcess:
            // It has no models.
            let other = try api.start()
            try await other.replay()
            await other.engine.close()
        }
        return program
    }

    // MARK: Bodies

    @Test(arguments: Sender.allCases)
    func `an object that refers to a new one is created after it, with its id`(_ sender: Sender) async throws {
        var program = try api.start()
        api.isOnline = false
        let errand = try newErrand(program)
        try await errand.save(.queued)
        let remark = try newRemark(program, of: errand)
        try await remark.save(.queued)
        try await remark.save(.queued) { $0.text = "bread" }
        #expect(try await remark.queuedJobs().map(\.reason) == [.awaitingID])
        program = try await send(program, by: sender)
        #expect(
            api.calls == [
                StubAPI.Call("POST", "errands", ["title": "shop"]),
                StubAPI.Call("POST", "remarks", ["text": "bread", "errand": 7, "others": []]),
            ])
        // The order of the classes does not matter.
        let saves = try await program.context.collectSaves(of: Remark.self, Errand.self)
        #expect(saves.map(\.serverID) == [8, 7] && saves.allSatisfy { $0.failure == nil })
        #expect(try program.waiting.isEmpty)
        guard sender != .laterRun else { return }
        #expect(remark.errand == errand.typedID && remark.errand == TypedID<Errand>(7) && remark.serverID == 8)
        #expect(!remark.isDirty && !remark.hasQueuedSaves && !errand.isDirty)
    }

    @Test func `a restored object refers to the restored new object, and gets its id`() async throws {
        var program = try api.start()
        api.isOnline = false
        let first = try newErrand(program)
        try await first.save(.queued)
        try await newRemark(program, of: first).save(.queued)
        await program.engine.close()

        program = try api.start()
        let errand = try #require(try await program.context.queuedModels(Errand.self).first)
        let remark = try #require(try await program.context.queuedModels(Remark.self).first)
        #expect(errand.localID == first.localID && remark.errand == errand.typedID)
        #expect(remark.errand.flatMap { program.context[$0] } === errand)
        api.isOnline = true
        try await program.replay()
        try await program.context.collectSaves(of: Errand.self)
        #expect(remark.errand == TypedID<Errand>(7))
        try await program.context.collectSaves(of: Remark.self)
        #expect(!remark.isDirty && remark.serverID == 8 && api.notes[8]?["errand"] == 7)
    }

    @Test func `a new object's own local id stays in a text, and a merged change keeps it`() async throws {
        let program = try api.start()
        api.isOnline = false
        let remark = try newRemark(program, of: nil)
        remark.text = remark.localID.description
        let text = remark.text
        try await remark.save(.queued)
        let errand = try newErrand(program)
        try await errand.save(.queued)
        try await remark.save(.queued) { $0.errand = errand.typedID }
        api.isOnline = true
        try await program.replay()
        try await program.replay()
        #expect(
            api.calls.last == StubAPI.Call("POST", "remarks", ["text": .string(text), "errand": 7, "others": []]))
        try await program.context.collectSaves(of: Errand.self, Remark.self)
        #expect(remark.serverID == 8 && remark.text == text && !remark.isDirty)
    }

    @Test func `a change of an existing object waits for the new object to which it refers`() async throws {
        let program = try api.start()
        let remark = try newRemark(program, of: nil)
        try await remark.save()
        api.isOnline = false
        let errand = try newErrand(program)
        let other = try newErrand(program, "cook")
        try await errand.save(.queued)
        try await other.save(.queued)
        try await remark.save(.queued) {
            $0.errand = errand.typedID
            $0.others = [other.typedID]
        }
        api.isOnline = true
        try await program.replay()
        // The two are sent at the same time, in any order.
        let orders = [
            StubAPI.Call("PATCH", "remarks/7", ["errand": 8, "others": [9]]),
            StubAPI.Call("PATCH", "remarks/7", ["errand": 9, "others": [8]]),
        ]
        #expect(orders.contains { api.calls.last == $0 })
        try await program.context.collectSaves(of: Errand.self, Remark.self)
        #expect(remark.errand == errand.typedID && remark.others == [other.typedID] && !remark.isDirty)
    }

    @Test func `an unsaved reference to a new object gets its id, and is saved with it`() async throws {
        let program = try api.start()
        let errand = try newErrand(program)
        let remark = try newRemark(program, of: errand)
        let branch = Branchlet()
        try program.context.register(branch)
        branch.parent = ParentReference(errand)
        var events = 0
        let token = remark.observe { event in if event.source == .server { events += 1 } }
        try await errand.save()
        #expect(remark.errand == TypedID<Errand>(7) && events == 1 && branch.parent.id == 7)
        try await remark.save()
        #expect(api.calls.last == StubAPI.Call("POST", "remarks", ["text": "milk", "errand": 7, "others": []]))
        token.cancel()
    }

    // MARK: URLs

    @Test(arguments: Sender.allCases)
    func `an object in the list of a new object is created in the list of its id`(_ sender: Sender) async throws {
        var program = try api.start()
        api.isOnline = false
        let errand = try newErrand(program)
        try await errand.save(.queued)
        let list = remarks(program, of: errand)
        let remark = ListedNote()
        remark.text = "milk"
        try await list.create(remark, .queued)
        try await remark.save(.queued) { $0.text = "bread" }
        program = try await send(program, by: sender)
        #expect(
            api.calls == [
                StubAPI.Call("POST", "errands", ["title": "shop"]),
                StubAPI.Call("POST", "errands/7/remarks", ["text": "bread"]),
            ])
        let saves = try await program.context.collectSaves(of: Errand.self, ListedNote.self)
        #expect(saves.map(\.serverID) == [7, 8])
        guard sender != .laterRun else { return }
        #expect(remark.serverID == 8 && !remark.isDirty && !remark.hasQueuedSaves && list.count == 1)
        // Later calls use the id, too.
        try await remark.save(.queued) { $0.text = "tea" }
        #expect(api.calls.last == StubAPI.Call("PATCH", "errands/7/remarks/8", ["text": "tea"]))
        try await remark.destroy()
        #expect(api.calls.last == StubAPI.Call("DELETE", "errands/7/remarks/8"))
    }

    @Test func `the list of a new object is not loaded before the object has an id`() async throws {
        let program = try api.start()
        let errand = try newErrand(program)
        let list = remarks(program, of: errand)
        let error = await #expect(throws: ModelError.self) { try await list.load() }
        #expect(error?.code == .missingID && api.calls.isEmpty)
        try await errand.save()
        try await list.load()
        #expect(api.calls.last?.path == "errands/7/remarks")
    }

    // MARK: Modes

    @Test(arguments: [SaveMode.optimistic, .wait, .queued, .queuedInBackground])
    func `a save that refers to a queued new object is queued, whatever its mode`(_ mode: SaveMode) async throws {
        let program = try api.start()
        api.isOnline = false
        let errand = try newErrand(program)
        try await errand.save(.queued)
        let remark = try newRemark(program, of: nil)
        try await remark.save(mode) { $0.errand = errand.typedID }
        #expect(remark.hasQueuedSaves && remark.errand == errand.typedID)
        api.isOnline = true
        try await program.replay()
        try await program.context.collectSaves(of: Errand.self, Remark.self)
        #expect(api.notes[8]?["errand"] == 7 && !remark.isDirty && remark.serverID == 8)
    }

    @Test(arguments: [SaveMode.optimistic, .wait, .queued, .queuedInBackground])
    func `a save that refers to an object that is not queued is refused, and nothing is sent`(_ mode: SaveMode)
        async throws
    {
        let program = try api.start()
        let errand = try newErrand(program)
        let remark = try newRemark(program, of: nil)
        try await remark.save()
        let error = await #expect(throws: ModelError.self) {
            try await remark.save(mode) { $0.errand = errand.typedID }
        }
        #expect(error?.code == .missingID && error?.message.contains("save that object first") == true)
        #expect(remark.errand == nil && !remark.isDirty && !remark.hasQueuedSaves && api.calls.count == 1)
    }

    @Test func `a save that would make two new objects wait for each other is refused, and undone`() async throws {
        let program = try api.start()
        api.isOnline = false
        let first = try newRemark(program, of: nil)
        try await first.save(.queued)
        let second = try newRemark(program, of: nil)
        try await second.save(.queued) { $0.others = [TypedID(first.localID)] }
        let error = await #expect(throws: ConnectionError.self) {
            try await first.save(.queued) { $0.others = [TypedID(second.localID)] }
        }
        #expect(error?.message.contains("POST https://api.example.com/remarks (job 2)") == true, "\(error as Any)")
        #expect(first.others.isEmpty)
        api.isOnline = true
        try await program.replay()
        #expect(api.calls.count == 2 && api.notes[8]?["others"] == [7])
    }

    // MARK: Failures

    @Test func `a refused new object holds the objects that refer to it, until it is saved again`() async throws {
        let program = try api.start()
        api.isOnline = false
        let errand = try newErrand(program)
        try await errand.save(.queued)
        let remark = try newRemark(program, of: errand)
        try await remark.save(.queued)
        api.isOnline = true
        api.answerOnce(StubAPI.Answer(422))
        try await program.replay()
        try await program.context.collectSaves(of: Errand.self, Remark.self)
        let job = try #require(try await remark.queuedJobs().first)
        #expect(job.reason == .creationFailed && job.awaitedJobs == [1] && remark.hasQueuedSaves)
        // An immediate save, too.
        try await errand.save { $0.title = "shop well" }
        try await program.replay()
        try await program.context.collectSaves(of: Errand.self, Remark.self)
        #expect(api.calls.last == StubAPI.Call("POST", "remarks", ["text": "milk", "errand": 7, "others": []]))
        #expect(remark.serverID == 8 && !remark.isDirty && !remark.hasQueuedSaves)
    }

    @Test(arguments: [SaveMode.optimistic, .wait, .queued])
    func `the deletion of an unsent object deletes the unsent objects that refer to it`(_ mode: SaveMode) async throws {
        let program = try api.start()
        let moved = try newRemark(program, of: nil)
        try await moved.save()
        api.isOnline = false
        let errand = try newErrand(program)
        try await errand.save(.queued)
        let list = ModelCollection<Remark>(context: program.context)
        let remark = try newRemark(program, of: errand)
        try await list.create(remark, .queued)
        try await moved.save(.queued) { $0.errand = errand.typedID }
        try await errand.destroy(mode)
        #expect(list.isEmpty && !remark.hasQueuedSaves && remark.isNew)
        api.isOnline = true
        try await program.replay()
        #expect(api.calls.count == 1)
        // The change of the existing object is reported, and stays unsaved.
        let saves = try await program.context.collectSaves(of: Remark.self, Errand.self)
        #expect(saves.count == 1 && saves.first?.model === moved && saves.first?.failure != nil)
        #expect(moved.isDirty && !moved.hasQueuedSaves)
    }

    // MARK: Answers of other forms

    @Test func `an id in a wrapped answer is found without the class`() async throws {
        let program = try api.start()
        api.isOnline = false
        let parcel = Parcel()
        parcel.label = "a"
        try program.context.register(parcel)
        try await parcel.save(.queued)
        let remark = try newRemark(program, of: nil)
        remark.others = [TypedID(parcel.localID)]
        try await remark.save(.queued)
        api.isOnline = true
        api.answerOnce(StubAPI.Answer(201, ["id": "no", "parcel": ["key": 70, "label": "a"]]))
        let other = try api.start()
        try await other.replay()
        #expect(api.calls.first?.body == ["parcel": ["label": "a"]])
        #expect(api.calls.last?.body?["others"] == [70])
        await other.engine.close()
    }
}

private final class Errand: Model {
    static let title: Property<Errand, String> = Property(\.title, "title")
    private var _title = ""

    var title: String {
        get { read(Self.title, from: _title) }
        set { write(Self.title, from: _title, to: newValue) { _title = $0 } }
    }

    override class var resource: Request? { Request("errands") }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _title = visitor.visit(Self.title, with: _title)
    }
}

private final class Remark: Model {
    static let text: Property<Remark, String> = Property(\.text, "text")
    static let errand: Property<Remark, TypedID<Errand>?> = Property(nullable: \.errand, "errand")
    static let others: Property<Remark, [TypedID<Errand>]> = Property(\.others, "others")

    private var _text = ""
    private var _errand: TypedID<Errand>?
    private var _others: [TypedID<Errand>] = []

    var text: String {
        get { read(Self.text, from: _text) }
        set { write(Self.text, from: _text, to: newValue) { _text = $0 } }
    }

    var errand: TypedID<Errand>? {
        get { read(Self.errand, from: _errand) }
        set { write(Self.errand, from: _errand, to: newValue) { _errand = $0 } }
    }

    var others: [TypedID<Errand>] {
        get { read(Self.others, from: _others) }
        set { write(Self.others, from: _others, to: newValue) { _others = $0 } }
    }

    override class var resource: Request? { Request("remarks") }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _text = visitor.visit(Self.text, with: _text)
        _errand = visitor.visit(Self.errand, with: _errand)
        _others = visitor.visit(Self.others, with: _others)
    }
}

private final class Branchlet: Model {
    static let parent: Property<Branchlet, ParentReference<Errand>> = Property(\.parent, "parent")
    private var _parent = ParentReference<Errand>()

    var parent: ParentReference<Errand> {
        get { read(Self.parent, from: _parent) }
        set { write(Self.parent, from: _parent, to: newValue) { _parent = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _parent = visitor.visit(Self.parent, with: _parent)
    }
}

/// An object that is wrapped in requests and responses, with an id of another name.
private final class Parcel: Model {
    static let label: Property<Parcel, String> = Property(\.label, "label")
    private var _label = ""

    var label: String {
        get { read(Self.label, from: _label) }
        set { write(Self.label, from: _label, to: newValue) { _label = $0 } }
    }

    override class var idKey: String { "key" }
    override class var resource: Request? { Request("parcels") }

    override func request(for call: ModelCall, body: JSONValue?) throws -> Request {
        try super.request(for: call, body: body.map { ["parcel": $0] })
    }

    override class func object(in response: Response) throws -> ObjectMembers? {
        try super.object(in: response)?.object(at: "parcel")
    }

    override class func object(in request: Request) throws -> JSONValue? {
        if case .object(let members)? = request.body?.jsonValue { members["parcel"] } else { nil }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _label = visitor.visit(Self.label, with: _label)
    }
}
