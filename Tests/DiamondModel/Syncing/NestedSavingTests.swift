import Diamond
import DiamondModel
import DiamondSQLite
import DiamondTestSupport
import Foundation
import Testing

/// Saves of objects that contain objects: each way to save, each place of a change, and whoever looks at the object.
@ModelActor
@Suite("The save of nested objects", .limit(minutes: 5)) struct NestedSavingTests {
    /// The ways by which a change of an object reaches the server.
    enum Way: String, CaseIterable, Sendable {
        case save, optimistic, wait, queued, queuedInBackground, replace, upload, sync
    }

    /// Who knows the object besides its user.
    enum Holder: String, CaseIterable, Sendable { case nobody, observer, collection }

    /// The object of a test, and what keeps it alive or looks at it.
    @ModelActor
    private final class World<Order: NestedOrder> {
        let api: QueuedAPI
        let program: QueuedAPI.Program
        let id: Int
        let json: JSONValue
        let order: Order
        private let list: ModelCollection<Order>
        private var token: ObserverToken?

        convenience init(_ holder: Holder) throws {
            let api = QueuedAPI()
            try self.init(holder, api, api.start(), id: 7)
        }

        init(_ holder: Holder, _ api: QueuedAPI, _ program: QueuedAPI.Program, id: Int) throws {
            self.api = api
            self.program = program
            self.id = id
            json = OrderPart.json(id: id)
            api.put(json, at: id)
            list = ModelCollection(context: program.context)
            order = try program.context.model(from: json)
            if holder == .collection { try list.add(order) }
            if holder == .observer { token = order.observe { _ in } }
        }

        /// The calls that change the object.
        var calls: [StubAPI.Call] { api.calls.filter { $0.path == "notes/\(order.modelID)" } }

        func save(_ part: OrderPart, _ way: Way) async throws {
            switch way {
            case .save:
                order.change(part)
                try await order.save()
            case .optimistic: try await order.save { $0.change(part) }
            case .wait: try await order.save(.wait) { $0.change(part) }
            case .queued: try await order.save(.queued) { $0.change(part) }
            case .queuedInBackground:
                try await order.save(.queuedInBackground) { $0.change(part) }
                try await program.drain(Order.self)
            case .replace: try await order.save(as: .replace) { $0.change(part) }
            case .upload, .sync:
                list.source = PageSource(program.engine, Request("notes"))
                order.change(part)
                if !list.contains(order) { try list.add(order) }
                if way == .upload { try await list.upload() } else { try await list.sync() }
            }
        }
    }

    private func check<Order: NestedOrder>(_ world: World<Order>, _ part: OrderPart, _ way: Way) async throws {
        let (order, api) = (world.order, world.api)
        let expected = try Order.decoded(from: world.json)
        expected.change(part)
        let parts = order.parts
        try await world.save(part, way)
        #expect(world.calls.count == 1)
        if way == .replace {
            #expect(world.calls.first?.body == expected.json)
        } else {
            #expect(world.calls.first?.body == .object([part.key: expected.json[part.key] ?? .null]))
        }
        let stored = api.notes[world.id]
        #expect(!order.isDirty && order.changedJSON == [:] && order.json == stored)
        let isKept = parts.filter { old in order.parts.contains { $0 === old } }.count
        #expect(isKept >= parts.count - 1)
        try await order.save()
        #expect(world.calls.count == 1)
        order.rollback()
        #expect(order.json == stored)
    }

    @Test(arguments: OrderPart.allCases, Way.allCases)
    func `a change of a nested object is saved, by whatever save, whoever looks`(
        _ part: OrderPart, _ way: Way
    ) async throws {
        let api = QueuedAPI()
        let program = try api.start()
        for (index, holder) in Holder.allCases.enumerated() {
            try await check(World<ByHand.Order>(holder, api, program, id: 10 + index), part, way)
            #if Macros
            try await check(World<OrdersByMacro.Order>(holder, api, program, id: 20 + index), part, way)
            #endif
        }
    }

    @Test(arguments: OrderPart.allCases, [SaveMode.optimistic, .wait, .queued])
    func `a refused change of a nested object is undone`(_ part: OrderPart, _ mode: SaveMode) async throws {
        let api = QueuedAPI()
        let program = try api.start()
        for (index, holder) in Holder.allCases.enumerated() {
            let world = try World<ByHand.Order>(holder, api, program, id: 10 + index)
            let order = world.order
            let parts = order.parts
            api.answerOnce(StubAPI.Answer(422))
            await #expect(throws: (any Error).self) { try await order.save(mode) { $0.change(part) } }
            #expect(order.json == world.json && !order.isDirty)
            #expect(order.parts.map(ObjectIdentifier.init) == parts.map(ObjectIdentifier.init))
        }
    }

    @Test(arguments: OrderPart.allCases, [SaveMode.optimistic, .wait, .queued])
    func `a created object is sent with its nested objects, once`(_ part: OrderPart, _ mode: SaveMode) async throws {
        let api = QueuedAPI()
        let program = try api.start()
        let list = ModelCollection<ByHand.Order>(context: program.context)
        let order = ByHand.Order()
        order.change(.newMember)
        order.change(.newOptional)
        order.change(part)
        try await list.create(order, mode)
        #expect(api.calls.count == 1 && api.notes.count == 1)
        #expect(!order.isDirty && !order.isNew && list.count == 1)
        #expect(order.json == api.notes.values.first)
        #expect(order.lines.allModels.allSatisfy { !$0.isNew })
        try await list.upload()
        #expect(api.calls.count == 1)
    }

    @Test(arguments: OrderPart.allCases, [SaveMode.optimistic, .wait])
    func `a refused deletion leaves the unsaved changes of nested objects`(
        _ part: OrderPart, _ mode: SaveMode
    ) async throws {
        let world = try World<ByHand.Order>(.collection)
        world.order.change(part)
        let before = world.order.changedJSON
        world.api.answerOnce(StubAPI.Answer(422))
        await #expect(throws: (any Error).self) { try await world.order.destroy(mode) }
        #expect(world.order.isDirty && world.order.changedJSON == before)
        try await world.order.destroy(mode)
        #expect(world.api.notes.isEmpty)
    }

    @Test(arguments: OrderPart.allCases)
    func `a change that waits for the server is not visible before, also in nested objects`(
        _ part: OrderPart
    ) async throws {
        let world = try World<ByHand.Order>(.nobody)
        let gate = Gate()
        world.api.waitOnce { await gate.wait() }
        let save = Task { try await world.order.save(.wait) { $0.change(part) } }
        for _ in 0..<20 { await Task.yield() }
        #expect(world.order.json == OrderPart.json && !world.order.isDirty)
        gate.open()
        try await save.value
        #expect(world.order.json == world.api.notes[7] && world.order.json != OrderPart.json)
    }

    @Test func `a nested model that is removed while its change waits in the queue is removed by the next save`()
        async throws
    {
        let world = try World<ByHand.Order>(.nobody)
        world.api.isOnline = false
        try await world.order.save(.queued) { $0.change(.optional) }
        world.order.gift = nil
        world.api.isOnline = true
        try await world.program.drain(ByHand.Order.self)
        #expect(world.order.gift == nil && world.api.notes[7]?["gift"] == ["name": "new"])
        try await world.order.save()
        #expect(world.api.notes[7]?["gift"] == .null && !world.order.isDirty)
    }

    // MARK: New elements

    @Test(arguments: [true, false])
    func `new elements get the ids of the answer, also if the server changes their values`(
        _ hasContext: Bool
    ) async throws {
        let api = StubAPI { _ in
            StubAPI.Answer(200, ["id": 7, "lines": [["id": 5, "name": "TEA"], ["id": 6, "name": "milk"]]])
        }
        let context = ModelContext(engine: api.engine)
        let order: ByHand.Order = try context.model(from: ["id": 7, "title": "t", "lines": []])
        let lines = [ByHand.Line(), ByHand.Line()]
        (lines[0].name, lines[1].name) = ("tea", "milk")
        try order.lines.set(lines)
        try await order.save()
        #expect(order.lines.map(\.modelID) == [5, 6] && order.lines.map(\.name) == ["TEA", "milk"])
        #expect(order.lines[0] === lines[0] && order.lines[1] === lines[1])
        #expect(!order.isDirty)
    }

    @Test func `a sent element that the answer lacks is removed, and one added meanwhile stays`() async throws {
        let gate = Gate()
        let api = StubAPI { _ in
            await gate.wait()
            return StubAPI.Answer(200, ["id": 7, "lines": [["id": 5, "name": "tea"]]])
        }
        let context = ModelContext(engine: api.engine)
        let order: ByHand.Order = try context.model(from: ["id": 7, "title": "t", "lines": []])
        let lines = ["tea", "air", "late"].map { name in
            let line = ByHand.Line()
            line.name = name
            return line
        }
        try order.lines.set(Array(lines[..<2]))
        let save = Task { try await order.save() }
        await untilTrue { api.calls.count == 1 }
        try order.lines.add(lines[2])
        gate.open()
        try await save.value
        #expect(order.lines.map(\.name) == ["tea", "late"] && order.lines[0] === lines[0])
        #expect(order.isDirty && order.lines[0].modelID == 5)
    }

    // MARK: Patches of nested objects

    /// An order whose class sends only the members that were set.
    final class PatchedOrder: Model {
        static let shop = Property(\PatchedOrder.shop, "shop")
        private var _shop = ByHand.Author()

        var shop: ByHand.Author {
            get { read(Self.shop, from: _shop) }
            set { write(Self.shop, from: _shop, to: newValue) { _shop = $0 } }
        }

        override class var resource: Request? { Request("notes") }
        override class var patchesNestedModels: Bool { true }

        override func visit(_ visitor: PropertyVisitor) {
            super.visit(visitor)
            _shop = visitor.visit(Self.shop, with: _shop)
        }
    }

    @Test func `a class may send only those members of nested models that were set`() async throws {
        let api = StubAPI { _ in StubAPI.Answer(204) }
        let context = ModelContext(engine: api.engine)
        let order: PatchedOrder = try context.model(
            from: ["id": 7, "shop": ["name": "s", "since": 1900, "home": ["city": "Nara", "zip": 3]]])
        try await order.save { $0.shop.name = "S" }
        #expect(api.calls.last?.body == ["shop": ["name": "S"]])
        try await order.save {
            let other = ByHand.Author()
            other.name = "T"
            other.home.city = "Nara"
            $0.shop = other
        }
        #expect(api.calls.last?.body == ["shop": ["name": "T", "since": nil, "home": ["zip": 0]]])
        #expect(!order.isDirty)
    }

    @Test func `a queued patch of a replaced nested model is the one that a direct save sends`() async throws {
        let api = QueuedAPI()
        let program = try api.start()
        let order: PatchedOrder = try program.context.model(
            from: ["id": 7, "shop": ["name": "s", "since": 1900, "home": ["city": "Nara", "zip": 3]]])
        api.isOnline = false
        try await order.save(.queued) {
            let other = ByHand.Author()
            other.name = "T"
            other.home.city = "Nara"
            $0.shop = other
        }
        let request = try #require(try program.queue.request(of: program.waiting[0].id))
        #expect(request.body?.jsonValue == ["shop": ["name": "T", "since": nil, "home": ["zip": 0]]])
    }

    @Test func `a queued patch of nested members has what earlier patches have not`() async throws {
        let api = QueuedAPI()
        let program = try api.start()
        let json: JSONValue = ["id": 7, "shop": ["name": "s", "home": ["city": "Nara", "zip": 3]]]
        api.put(json, at: 7)
        let order: PatchedOrder = try program.context.model(from: json)
        api.isOnline = false
        try await order.save(.queued) { $0.shop.name = "S" }
        try await order.save(.queued) { $0.shop.name = "s" }
        #expect(try program.waiting.count == 1)
        let request = try #require(try program.queue.request(of: program.waiting[0].id))
        #expect(request.body?.jsonValue == ["shop": ["name": "s"]])
    }
}
