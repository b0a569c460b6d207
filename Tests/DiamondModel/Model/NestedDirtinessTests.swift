import Diamond
import DiamondModel
import DiamondSQLite
import Foundation
import Observation
import Testing

/// The dirtiness of objects that contain objects, their rollback, rules and archives.
@Suite("The dirtiness of objects that contain objects") struct NestedDirtinessTests {
    private func order(in context: ModelContext? = nil) throws -> ByHand.Order {
        try context?.model(from: OrderPart.json) ?? ByHand.Order(json: OrderPart.json)
    }

    @Test(arguments: OrderPart.allCases)
    func `a change of a nested object makes its owner dirty, also if it is not observed`(_ part: OrderPart) throws {
        let order = try order()
        #expect(!order.isDirty && order.changedJSON == [:])
        order.change(part)
        #expect(order.isDirty && Array((order.changedJSON.members ?? [:]).keys) == [part.key])
        #expect(order.json == OrderPart.json.replacing(part.key, with: order.changedJSON[part.key]))
        let copy = order.copy()
        #expect(copy.isDirty && copy.changedJSON == order.changedJSON)
        order.markSynced()
        #expect(!order.isDirty && order.changedJSON == [:] && copy.isDirty)
    }

    #if Macros
    @Test(arguments: OrderPart.allCases)
    func `a class written by the macro is dirty as its handwritten twin is`(_ part: OrderPart) throws {
        let byMacro = try OrdersByMacro.Order(json: OrderPart.json)
        let byHand = try order()
        byMacro.change(part)
        byHand.change(part)
        #expect(byMacro.isDirty && byMacro.json == byHand.json && byMacro.changedJSON == byHand.changedJSON)
        byMacro.rollback()
        #expect(byMacro.json == OrderPart.json && !byMacro.isDirty)
    }
    #endif

    @Test(arguments: OrderPart.allCases)
    func `a view that has read the dirtiness learns of a change of a nested object`(_ part: OrderPart) throws {
        let order = try order()
        let changes = Guarded(0)
        func watch() -> Bool {
            withObservationTracking {
                order.isDirty
            } onChange: {
                changes.withLock { $0 += 1 }
            }
        }
        #expect(!watch())
        order.change(part)
        #expect(changes.withLock { $0 } == 1)
        #expect(watch())
        order.rollback()
        #expect(changes.withLock { $0 } == 2 && !watch())
    }

    @Test(arguments: OrderPart.allCases, [true, false])
    func `a rollback restores nested objects, the same instances in their order`(
        _ part: OrderPart, _ hasContext: Bool
    ) throws {
        let context = hasContext ? ModelContext() : nil
        let order = try order(in: context)
        let parts = order.parts
        order.change(part)
        order.rollback()
        #expect(order.json == OrderPart.json && !order.isDirty && order.changedJSON == [:])
        // Without a context nobody else holds a removed member, and it is read again.
        if part != .removedMember, part != .severalMembers || hasContext {
            #expect(order.parts.map(ObjectIdentifier.init) == parts.map(ObjectIdentifier.init))
        }
    }

    @Test func `a rollback of one property restores its nested object, and no other`() throws {
        let order = try order()
        order.change(.model)
        order.change(.deepModel)
        order.rollback(ByHand.Order.shop)
        #expect(order.shop.home.city == "Nara" && order.address.city == "new")
        #expect(order.changedJSON.members?.keys.sorted() == ["address"])
    }

    @Test func `objects that contain each other are asked once each`() throws {
        let orders = try (0..<24).map { try ByHand.Order(json: ["id": JSONValue($0)]) }
        for (index, order) in orders.enumerated() {
            order.previous = orders[(index + 1) % orders.count]
            try order.lines.set([])
        }
        for order in orders { order.markSynced() }
        #expect(!orders[0].isDirty)
        orders[20].title = "new"
        #expect(orders[0].isDirty && orders[21].isDirty)
        orders[0].rollback()
        #expect(orders.filter(\.isDirty).isEmpty)
    }

    @Test func `setting a missing value to its default is a change, with an event`() throws {
        let note = try Note(json: ["id": 1])
        var events: [[String]] = []
        let token = note.observe { events.append($0.changes.map(\.key)) }
        note.stars = 0
        #expect(events == [["stars"]] && note.isDirty && note.changedJSON == ["stars": 0])
        note.stars = 0
        #expect(events.count == 1)
        token.cancel()
    }

    // MARK: Rules and repairs

    @Test func `rules of nested objects are checked at any depth, and refuse a save`() async throws {
        let order = try order()
        order.address.city = ""
        order.shop.home.city = ""
        order.lines[1].count = -1
        order.lines[1].origin.city = ""
        #expect(
            order.violations.map(\.description).sorted() == [
                "address.city breaks the rule nonEmpty", "lines[1].count breaks the rule range",
                "lines[1].origin.city breaks the rule nonEmpty", "shop.home.city breaks the rule nonEmpty",
            ])
        let error = #expect(throws: ModelError.self) { try order.validate() }
        #expect(error?.code == .invalid && error?.violations.count == 4)
        await #expect(throws: ModelError.self) { try await order.save() }
    }

    @Test func `a nested object that the JSON lacks breaks no rule`() throws {
        final class Owner: Model {
            static let account = Property(\Owner.account, "account")
            private var _account = Account()
            var account: Account {
                get { read(Self.account, from: _account) }
                set { write(Self.account, from: _account, to: newValue) { _account = $0 } }
            }
            override func visit(_ visitor: PropertyVisitor) { _account = visitor.visit(Self.account, with: _account) }
        }
        #expect(try Owner(json: ["id": 1]).violations.isEmpty)
        #expect(Owner().violations.map(\.key) == ["account.name"])
    }

    @Test func `repairs of nested objects are listed with their paths, and refuse strict reading`() throws {
        let json = OrderPart.json.replacing("shop", with: ["name": "s", "home": ["city": 5, "zip": 3]])
            .replacing("lines", with: [["id": 1, "name": "tea", "count": "x", "origin": ["city": "Uji", "zip": 4]]])
            .replacing("previous", with: nil)
        let order = try ByHand.Order(json: json)
        #expect(
            order.repairs.map(\.description).sorted() == ["lines[0].count is a string", "shop.home.city is a number"])
        let error = #expect(throws: ModelError.self) { try ByHand.Order(json: json, strict: true) }
        #expect(error?.code == .needsRepair && error?.repairs.count == 2)
    }

    // MARK: Optional models

    @Test(
        arguments: [
            ([:], nil, ["gift is missing"]), (["gift": nil], nil, []), (["gift": ["name": "g"]], "g", []),
            (["gift": 7], nil, ["gift is a number"]),
        ] as [(JSONValue, String?, [String])])
    func `an optional nested model is nil without an object`(
        _ json: JSONValue, _ name: String?, _ repairs: [String]
    ) throws {
        let order = try ByHand.Order(json: json)
        #expect(order.gift?.name == name)
        #expect(order.repairs.map(\.description).filter { $0.hasPrefix("gift") } == repairs)
        let (written, read): (JSONValue?, JSONValue?) = (order.json["gift"], json["gift"])
        #expect(written == read && !order.isDirty)
    }

    @Test func `merges create, change and remove an optional nested model, and keep the instance`() throws {
        let order = try ByHand.Order(json: ["id": 1])
        try order.merge(["gift": ["name": "a"]])
        let gift = try #require(order.gift)
        try order.merge(["gift": ["name": "b"]])
        #expect(order.gift === gift && gift.name == "b")
        var events: [[String]] = []
        let token = order.observe { events.append($0.changes.map(\.key)) }
        gift.name = "c"
        try order.merge(["gift": nil])
        #expect(order.gift == nil && !order.isDirty && order.repairs.allSatisfy { $0.path != "gift" })
        order["gift"] = ["name": "d"]
        #expect(order.gift?.name == "d" && order.changedJSON == ["gift": ["name": "d"]])
        order["gift"] = nil
        #expect(order.gift == nil && !order.isDirty)
        #expect(events == [["gift.name"], ["gift"], ["gift"], ["gift"]])
        token.cancel()
    }

    @Test func `a class may contain itself as an optional, at any depth`() throws {
        var json: JSONValue = ["id": 0]
        for id in 1..<40 { json = ["id": JSONValue(id), "previous": json] }
        let order = try ByHand.Order(json: json)
        var last = order
        while let previous = last.previous { last = previous }
        #expect(last.modelID == 0 && order.json == json)
        last.title = "new"
        #expect(order.isDirty && order.copy().isDirty && order.isEqual(to: order.copy()))
        order.rollback()
        #expect(order.json == json)
    }

    // MARK: Contexts

    @Test func `a nested object of another context is refused, as by a collection`() throws {
        let (context, other) = (ModelContext(), ModelContext())
        let order: ByHand.Order = try context.model(from: OrderPart.json)
        let foreign: ByHand.Author = try other.model(from: ["id": 9, "name": "B"])
        let shop = order.shop
        order.shop = foreign
        #expect(order.shop === shop && !order.isDirty)
        #expect(order.rejections.map(\.description) == ["shop breaks the rule otherContext"])
        let draft = ByHand.Order()
        draft.shop = foreign
        let error = #expect(throws: ModelError.self) { try context.register(draft) }
        #expect(error?.code == .otherContext && draft.context == nil)
        try other.register(draft)
        order.shop = ByHand.Author()
        #expect(order.shop !== shop && order.rejections.isEmpty && order.shop.context === context)
    }

    @Test func `a copy with the id of a live instance is refused as a nested object`() throws {
        let context = ModelContext()
        let order: ByHand.Order = try context.model(from: OrderPart.json)
        order.shop = order.author.copy()
        #expect(order.rejections.map(\.rule) == ["unique"] && !order.isDirty)
        order.shop = order.author
        #expect(order.shop === order.author && order.rejections.isEmpty)
    }

    // MARK: Archives

    private func archived<Value: Codable>(_ value: Value) throws -> Value {
        try JSONDecoder().decode(Value.self, from: JSONEncoder().encode(value))
    }

    @Test(arguments: OrderPart.allCases)
    func `an archive keeps unsaved changes with the values of the last sync`(_ part: OrderPart) throws {
        let order = try order()
        let plain = try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(order))
        #expect(plain == OrderPart.json)
        order.change(part)
        let copy = try archived(order)
        #expect(copy.json == order.json && copy.isDirty && copy.changedJSON == order.changedJSON)
        #expect(copy.dirtyProperties.map(\.key) == order.dirtyProperties.map(\.key) && copy.serverID == 7)
        #expect(zip(copy.parts, order.parts).allSatisfy { $0.serverID == $1.serverID && $0.isNew == $1.isNew })
        copy.rollback()
        #expect(copy.json == OrderPart.json && !copy.isDirty)
    }

    @Test func `an archived collection keeps new objects with their local ids, and the changes of others`() throws {
        let draft = ByHand.Order()
        draft.title = "draft"
        draft.change(.newMember)
        let orders = try ModelCollection([order(), draft])
        orders[0].change(.deepMember)
        let copies = try archived(orders)
        #expect(copies.rejected.isEmpty && copies.map(\.modelID) == [7, draft.localID])
        #expect(copies[1].isNew && copies[1].json == draft.json && copies[1].isDirty)
        #expect(copies[1].lines[0].localID == draft.lines[0].localID)
        #expect(copies[0].changedJSON == orders[0].changedJSON)
        let context = ModelContext()
        try context.register(copies[1])
        #expect(context.existing(ByHand.Order.self, id: draft.localID) === copies[1])
    }

    @Test func `an object that the server has confirmed without an id stays in an archived collection`() throws {
        let orders = ModelCollection<ByHand.Order>()
        let order = ByHand.Order()
        try orders.add(order)
        orders.allModels[0].markSynced()
        let copies = try archived(orders)
        #expect(copies.map(\.modelID) == [order.localID] && copies.rejected.isEmpty && !copies[0].isDirty)
    }

    @Test func `JSON of a server cannot set the unsaved state`() throws {
        let order = try ByHand.Order(
            json: ["id": 1, "title": "t", "diamond:unsaved": ["dirty": ["title"], "base": ["title": "x"]]])
        #expect(!order.isDirty && order.title == "t")
        let copy = try archived(order)
        #expect(!copy.isDirty && copy.json == order.json)
        copy.rollback()
        #expect(copy.title == "t")
    }
}

extension JSONValue {
    fileprivate var members: [String: JSONValue]? {
        if case .object(let members) = self { members } else { nil }
    }

    fileprivate func replacing(_ name: String, with value: JSONValue?) -> JSONValue {
        var members = members ?? [:]
        members[name] = value ?? .null
        return .object(members)
    }
}
