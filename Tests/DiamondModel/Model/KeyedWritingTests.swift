import Diamond
import DiamondModel
import Testing

/// Writing properties by their keys, as far as a user may.
@Suite("Properties that are written by their keys") struct KeyedWritingTests {
    private let context = ModelContext()

    private func badge() throws -> Badge {
        try context.model(from: ["id": 1, "owner": ["id": 2, "name": "A", "rank": 3, "boss": ["id": 4, "rank": 9]]])
    }

    @Test(
        arguments: [
            ["id": 2, "rank": 5], ["name": "B", "rank": 5], ["boss": ["rank": 1]],
            ["id": 9, "boss": ["id": 4, "rank": 1]],
        ] as [JSONValue])
    func `a nested object that is written by key is refused if it has a member that only the server sets`(
        _ owner: JSONValue
    ) throws {
        let badge = try badge()
        let before = badge.json
        let error = #expect(throws: ModelError.self) { try badge.set("owner", to: owner) }
        #expect(error?.code == .notSettable && error?.message.hasPrefix("owner.") == true)
        badge["owner"] = owner
        #expect(badge.json == before && badge.owner.rank == 3 && badge.owner.boss.rank == 9)
    }

    @Test func `a nested object may be written by key with the members that a user may set`() throws {
        let badge = try badge()
        try badge.set("owner", to: ["id": 2, "name": "B"])
        #expect(badge.owner.name == "B" && badge.owner.rank == 3)
        try badge.set("owner", to: ["name": "C"])
        #expect(badge.owner.name == "C" && badge.owner.isNew)
    }

    @Test func `a snapshot can be written back`() throws {
        let badge = try badge()
        #expect(badge.snapshot["owner"]?["name"] == "A" && badge.snapshot["owner"]?["rank"] == nil)
        let (snapshot, owner) = (badge.snapshot, badge.owner)
        badge.owner.name = "B"
        try badge.replace(snapshot)
        #expect(badge.owner === owner && owner.name == "A" && owner.rank == 3)
    }

    @Test func `a row whose rules refuse its new element stays in the list, with the new position and the old values`()
        throws
    {
        let list = ModelCollection<Account>(context: context)
        try list.set([["id": 1, "balance": 1], ["id": 2, "balance": 2], ["id": 3, "balance": 3]])
        try list.set([["id": 3, "balance": 30], ["id": 2, "balance": -2], ["id": 4, "balance": 4]])
        #expect(list.map(\.modelID) == [3, 2, 4] && list.map(\.balance) == [30, 2, 4])
        #expect(list.rejected.map(\.index) == [1] && list.rejected.map(\.error.code) == [.invalid])
        #expect(list.json == [["id": 3, "balance": 30], ["id": 2, "balance": 2], ["id": 4, "balance": 4]])
    }
}

private final class Badge: Model {
    static let owner = Property(\Badge.owner, "owner")

    private var _owner = Owner()

    var owner: Owner {
        get { read(Self.owner, from: _owner) }
        set { write(Self.owner, from: _owner, to: newValue) { _owner = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _owner = visitor.visit(Self.owner, with: _owner)
    }
}

private final class Owner: Model {
    static let name = Property(\Owner.name, "name")
    static let rank = Property(\Owner.rank, "rank", access: .server)
    static let boss = Property(\Owner.boss, "boss")

    private var _name = ""
    private var _rank = 0
    private var _boss = Boss()

    var rank: Int { read(Self.rank, from: _rank) }

    var name: String {
        get { read(Self.name, from: _name) }
        set { write(Self.name, from: _name, to: newValue) { _name = $0 } }
    }

    var boss: Boss {
        get { read(Self.boss, from: _boss) }
        set { write(Self.boss, from: _boss, to: newValue) { _boss = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _name = visitor.visit(Self.name, with: _name)
        _rank = visitor.visit(Self.rank, with: _rank)
        _boss = visitor.visit(Self.boss, with: _boss)
    }
}

private final class Boss: Model {
    static let rank = Property(\Boss.rank, "rank", access: .server)

    private var _rank = 0

    var rank: Int { read(Self.rank, from: _rank) }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _rank = visitor.visit(Self.rank, with: _rank)
    }
}
