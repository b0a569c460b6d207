import Diamond
package import DiamondModel

/// A model of which every property affects a collection's filters, order or sections.
package final class Item: Model {
    package static let id = Property(\Item.id, "id", access: .server)
    package static let rank = Property(\Item.rank, "rank")
    package static let group = Property(\Item.group, "group")
    package static let version = Property(\Item.version, "version")

    private var _id = 0
    private var _rank = 0
    private var _group = "a"
    private var _version = 0

    package var id: Int { read(Self.id, from: _id) }

    package var rank: Int {
        get { read(Self.rank, from: _rank) }
        set { write(Self.rank, from: _rank, to: newValue) { _rank = $0 } }
    }

    package var group: String {
        get { read(Self.group, from: _group) }
        set { write(Self.group, from: _group, to: newValue) { _group = $0 } }
    }

    package var version: Int {
        get { read(Self.version, from: _version) }
        set { write(Self.version, from: _version, to: newValue) { _version = $0 } }
    }

    package override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _id = visitor.visit(Self.id, with: _id)
        _rank = visitor.visit(Self.rank, with: _rank)
        _group = visitor.visit(Self.group, with: _group)
        _version = visitor.visit(Self.version, with: _version)
    }

    package static func make(_ id: Int, rank: Int = 0, group: String = "a") -> Item {
        let item = Item()
        try? item.merge(["id": .integer(Int64(id)), "rank": .integer(Int64(rank)), "group": .string(group)])
        return item
    }
}
