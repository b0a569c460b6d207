import Diamond
import DiamondModel

/// An order with nested objects of each kind. One class is written by hand, one by the macro.
protocol NestedOrder: Model {
    func change(_ part: OrderPart, to name: String)
    /// The objects that the order contains, to look at their identity.
    var parts: [Model] { get }
}

extension NestedOrder {
    func change(_ part: OrderPart) { change(part, to: "new") }
}

/// A part of an order that a test changes.
enum OrderPart: String, CaseIterable, Sendable {
    case inherited, model, replacedModel, deepModel, inheritedDeepModel
    case optional, removedOptional, newOptional, recursive
    case member, deepMember, newMember, removedMember, movedMembers, severalMembers

    /// The member of the order's JSON that the change is in.
    var key: String {
        switch self {
        case .inherited: "title"
        case .model, .replacedModel: "address"
        case .deepModel: "shop"
        case .inheritedDeepModel: "author"
        case .optional, .removedOptional: "gift"
        case .newOptional: "voucher"
        case .recursive: "previous"
        default: "lines"
        }
    }

    static let json = json(id: 7)

    static func json(id: Int) -> JSONValue {
        [
            "id": JSONValue(id), "title": "t",
            "author": ["id": 1, "name": "Ann", "home": ["city": "Kyoto", "zip": 1]],
            "address": ["city": "Osaka", "zip": 2], "shop": ["name": "s", "home": ["city": "Nara", "zip": 3]],
            "gift": ["name": "g"], "voucher": nil, "previous": ["id": 6, "title": "p", "lines": []],
            "lines": [
                ["id": 1, "name": "tea", "count": 1, "origin": ["city": "Uji", "zip": 4]],
                ["id": 2, "name": "rice", "count": 2, "origin": ["city": "Sado", "zip": 5]],
            ],
        ]
    }
}

/// The classes written by hand.
enum ByHand {
    class Document: Model {
        static let id = Property(\Document.id, "id", access: .server)
        static let title = Property(\Document.title, "title")
        static let author = Property(\Document.author, "author")

        private var _id = 0
        private var _title = ""
        private var _author = Author()

        var id: Int { read(Self.id, from: _id) }

        var title: String {
            get { read(Document.title, from: _title) }
            set { write(Document.title, from: _title, to: newValue) { _title = $0 } }
        }

        var author: Author {
            get { read(Document.author, from: _author) }
            set { write(Document.author, from: _author, to: newValue) { _author = $0 } }
        }

        override func visit(_ visitor: PropertyVisitor) {
            super.visit(visitor)
            _id = visitor.visit(Self.id, with: _id)
            _title = visitor.visit(Document.title, with: _title)
            _author = visitor.visit(Document.author, with: _author)
        }
    }

    final class Order: Document {
        static let address = Property(\Order.address, "address")
        static let shop = Property(\Order.shop, "shop")
        static let gift = Property(nullable: \Order.gift, "gift")
        static let voucher = Property(nullable: \Order.voucher, "voucher")
        static let previous = Property(nullable: \Order.previous, "previous")
        static let lines = Property(\Order.lines, "lines")

        private var _address = Address()
        private var _shop = Author()
        private var _gift: Gift?
        private var _voucher: Gift?
        private var _previous: Order?

        var address: Address {
            get { read(Self.address, from: _address) }
            set { write(Self.address, from: _address, to: newValue) { _address = $0 } }
        }

        var shop: Author {
            get { read(Self.shop, from: _shop) }
            set { write(Self.shop, from: _shop, to: newValue) { _shop = $0 } }
        }

        var gift: Gift? {
            get { read(Self.gift, from: _gift) }
            set { write(Self.gift, from: _gift, to: newValue) { _gift = $0 } }
        }

        var voucher: Gift? {
            get { read(Self.voucher, from: _voucher) }
            set { write(Self.voucher, from: _voucher, to: newValue) { _voucher = $0 } }
        }

        var previous: Order? {
            get { read(Self.previous, from: _previous) }
            set { write(Self.previous, from: _previous, to: newValue) { _previous = $0 } }
        }

        let lines = ModelCollection<Line>()

        override class var resource: Request? { Request("notes") }

        override func visit(_ visitor: PropertyVisitor) {
            super.visit(visitor)
            _address = visitor.visit(Self.address, with: _address)
            _shop = visitor.visit(Self.shop, with: _shop)
            _gift = visitor.visit(Self.gift, with: _gift)
            _voucher = visitor.visit(Self.voucher, with: _voucher)
            _previous = visitor.visit(Self.previous, with: _previous)
            visitor.visit(Self.lines, with: lines)
        }
    }

    final class Author: Model {
        static let name = Property(\Author.name, "name")
        static let home = Property(\Author.home, "home")
        private var _name = ""
        private var _home = Address()

        var name: String {
            get { read(Self.name, from: _name) }
            set { write(Self.name, from: _name, to: newValue) { _name = $0 } }
        }

        var home: Address {
            get { read(Self.home, from: _home) }
            set { write(Self.home, from: _home, to: newValue) { _home = $0 } }
        }

        override func visit(_ visitor: PropertyVisitor) {
            super.visit(visitor)
            _name = visitor.visit(Self.name, with: _name)
            _home = visitor.visit(Self.home, with: _home)
        }
    }

    final class Address: Model {
        static let city = Property(\Address.city, "city", rules: [.nonEmpty])
        static let zip = Property(\Address.zip, "zip")
        private var _city = "?"
        private var _zip = 0

        var city: String {
            get { read(Self.city, from: _city) }
            set { write(Self.city, from: _city, to: newValue) { _city = $0 } }
        }

        var zip: Int {
            get { read(Self.zip, from: _zip) }
            set { write(Self.zip, from: _zip, to: newValue) { _zip = $0 } }
        }

        override func visit(_ visitor: PropertyVisitor) {
            super.visit(visitor)
            _city = visitor.visit(Self.city, with: _city)
            _zip = visitor.visit(Self.zip, with: _zip)
        }
    }

    final class Gift: Model {
        static let name = Property(\Gift.name, "name")
        private var _name = ""

        var name: String {
            get { read(Self.name, from: _name) }
            set { write(Self.name, from: _name, to: newValue) { _name = $0 } }
        }

        override func visit(_ visitor: PropertyVisitor) {
            super.visit(visitor)
            _name = visitor.visit(Self.name, with: _name)
        }
    }

    final class Line: Model {
        static let name = Property(\Line.name, "name")
        static let count = Property(\Line.count, "count", rules: [.range(0...)])
        static let origin = Property(\Line.origin, "origin")
        private var _name = ""
        private var _count = 0
        private var _origin = Address()

        var name: String {
            get { read(Self.name, from: _name) }
            set { write(Self.name, from: _name, to: newValue) { _name = $0 } }
        }

        var count: Int {
            get { read(Self.count, from: _count) }
            set { write(Self.count, from: _count, to: newValue) { _count = $0 } }
        }

        var origin: Address {
            get { read(Self.origin, from: _origin) }
            set { write(Self.origin, from: _origin, to: newValue) { _origin = $0 } }
        }

        override func visit(_ visitor: PropertyVisitor) {
            super.visit(visitor)
            _name = visitor.visit(Self.name, with: _name)
            _count = visitor.visit(Self.count, with: _count)
            _origin = visitor.visit(Self.origin, with: _origin)
        }
    }
}

extension ByHand.Order: NestedOrder {
    func change(_ part: OrderPart, to name: String) {
        switch part {
        case .inherited: title = name
        case .model: address.city = name
        case .replacedModel:
            let other = ByHand.Address()
            other.city = name
            address = other
        case .deepModel: shop.home.city = name
        case .inheritedDeepModel: author.home.city = name
        case .optional: gift?.name = name
        case .removedOptional: gift = nil
        case .newOptional:
            let other = ByHand.Gift()
            other.name = name
            voucher = other
        case .recursive: previous?.title = name
        case .member: lines.allModels.last?.count = name.utf8.count
        case .deepMember: lines.allModels.last?.origin.city = name
        case .newMember: try? lines.set(lines.allModels + [Self.newLine(name)])
        case .removedMember: lines.allModels.first.map { _ = lines.remove($0) }
        case .movedMembers: try? lines.set(lines.allModels.reversed())
        case .severalMembers: try? lines.set(lines.allModels.dropFirst() + [name, name].map(Self.newLine))
        }
    }

    private static func newLine(_ name: String) -> ByHand.Line {
        let line = ByHand.Line()
        line.name = name
        return line
    }

    var parts: [Model] { [author, address, shop] + [gift, voucher].compactMap { $0 } + lines.allModels }
}
