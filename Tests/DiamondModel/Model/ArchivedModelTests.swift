import Diamond
import DiamondModel
import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

/// Archives that another run of the program reads and takes into a context, and what the server has confirmed.
@ModelActor
@Suite("An archived model", .limit(minutes: 5)) struct ArchivedModelTests {
    private func archived<Value: Codable>(_ value: Value) throws -> Value {
        try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
    }

    @Test func `a load after an archive was registered merges into its nested objects, and doubles none`()
        async throws
    {
        let api = StubAPI { _ in StubAPI.Answer(200, OrderPart.json) }
        let earlier = ModelContext()
        let order: ByHand.Order = try earlier.model(from: OrderPart.json)
        order.lines[0].count = 9
        let copy = try archived(order)
        let context = ModelContext(engine: api.engine)
        try context.register(copy)
        #expect(context.existing(ByHand.Line.self, id: 1) === copy.lines[0])
        #expect(context.existing(ByHand.Author.self, id: 1) === copy.author)
        try await copy.load(policy: .revalidate)
        #expect(copy.lines.map(\.modelID) == [1, 2] && copy.lines[0].count == 9)
        #expect(copy.dirtyProperties.isEmpty && copy.lines[0].isDirty)
    }

    @Test func `two archived objects with the same nested object share it in a context`() throws {
        let orders = try [7, 8].map { try archived(ByHand.Order(json: OrderPart.json(id: $0))) }
        let context = ModelContext()
        for order in orders { try context.register(order) }
        #expect(orders[0].author === orders[1].author && orders[0].lines[0] === orders[1].lines[0])
        #expect(!orders[0].isDirty && !orders[1].isDirty)
    }

    @Test func `an archive of a creation that the queue has restored has its values`() async throws {
        let api = QueuedAPI()
        var program = try api.start()
        api.isOnline = false
        let note = Note()
        try program.context.register(note)
        try await note.save(.queued) {
            $0.text = "bread"
            $0.stars = 3
        }
        await program.engine.close()
        program = try api.start()
        let waiting = try await program.context.queuedModels(Note.self)
        let restored = try #require(waiting.first)
        let copy = try archived(restored)
        #expect(copy.text == "bread" && copy.stars == 3 && copy.isNew && copy.localID == note.localID)
    }

    @Test func `a deletion that was not sent is in the archive of its list`() async throws {
        let api = QueuedAPI()
        let notes: [JSONValue] = [["id": 7, "text": "a", "stars": 0], ["id": 8, "text": "b", "stars": 0]]
        for (index, note) in notes.enumerated() { api.put(note, at: 7 + index) }
        let program = try api.start()
        let list = ModelCollection<Note>(context: program.context)
        try list.set(.array(notes))
        list.delete(list[0])
        let copies = try [archived(list), archived(archived(list))]
        for copy in copies { copy.source = PageSource(program.engine, Request("notes")) }
        #expect(copies.allSatisfy { $0.deleted.map(\.modelID) == [7] && $0.map(\.modelID) == [8] })
        #expect(copies[0].undelete(copies[0].deleted[0]))
        #expect(copies[0].map(\.modelID) == [8, 7] && copies[0].deleted.isEmpty)
        try await copies[1].sync()
        #expect(api.calls.map(\.method) == ["DELETE", "GET"] && api.calls.first?.path == "notes/7")
        #expect(copies[1].map(\.modelID) == [8] && copies[1].deleted.isEmpty)
    }

    @Test func `an unsent deletion of a nested member is in the archive of its owner`() throws {
        let order: ByHand.Order = try ModelContext().model(from: OrderPart.json)
        order.lines.delete(order.lines[0])
        let copy = try archived(order)
        try ModelContext().register(copy)
        #expect(copy.lines.map(\.modelID) == [2] && copy.lines.deleted.map(\.modelID) == [1])
        let other = try archived(copy)
        try ModelContext().register(other)
        #expect(other.lines.deleted.map(\.modelID) == [1])
    }

    // MARK: Members that the server has confirmed

    @Test(arguments: [false, true])
    func `a rollback leaves members that the server has created, and removed ones removed`(
        _ hasUnsaved: Bool
    ) async throws {
        let api = StubAPI { call in
            call.method == "POST" ? StubAPI.Answer(201, ["id": 9, "name": "milk"]) : StubAPI.Answer(204)
        }
        let context = ModelContext(engine: api.engine)
        let order: ByHand.Order = try context.model(from: OrderPart.json)
        order.lines.source = PageSource(api.engine, Request("lines"))
        if hasUnsaved { try order.lines.add(ByHand.Line()) }
        let line = ByHand.Line()
        line.name = "milk"
        try await order.lines.create(line)
        #expect(order.isDirty == hasUnsaved)
        try await order.lines[0].destroy()
        #expect(order.isDirty == hasUnsaved)
        order.rollback()
        #expect(order.lines.map(\.modelID) == [2, 9] && !order.isDirty)
        order.lines.removeAll()
        #expect(order.isDirty)
        order.rollback()
        #expect(order.lines.map(\.modelID) == [2, 9] && order.lines[1] === line && !order.isDirty)
    }

    @Test func `elements that a nested list merges are no unsaved changes`() throws {
        let order: ByHand.Order = try ModelContext().model(from: OrderPart.json)
        try order.lines.upsert([["id": 3, "name": "salt"]])
        #expect(!order.isDirty && order.lines.map(\.modelID) == [1, 2, 3])
        try order.lines.move(from: 2, to: 0)
        try order.lines.upsert([["id": 4, "name": "oil"]])
        order.rollback()
        #expect(order.lines.map(\.modelID) == [1, 2, 3, 4] && !order.isDirty)
    }

    // MARK: Objects that refer back to their owner

    @Test func `an object that refers back to its owner does not change with it`() throws {
        let context = ModelContext()
        let order: ByHand.Order = try context.model(from: OrderPart.json)
        let other = try #require(order.previous)
        other.previous = order
        order.markSynced()
        #expect(!order.isDirty)
        order.title = "x"
        #expect(order.changedJSON == ["title": "x"])
    }
}
