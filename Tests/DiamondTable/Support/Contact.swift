import Diamond
import DiamondModel
import DiamondTable
import DiamondTestSupport

/// A model with fields of unrelated types.
final class Contact: Model {
    static let id = Property(\Contact.id, "id", access: .server)
    static let name = Property(\Contact.name, "name")
    static let nickname = Property(nullable: \Contact.nickname, "nickname")
    static let phones = Property(\Contact.phones, "phones")
    static let employer = Property(\Contact.employer, "employer")
    static let addresses = Property(\Contact.addresses, "addresses")

    private var _id = 0
    private var _name = ""
    private var _nickname: String?
    private var _phones: [String] = []
    private var _employer = Item()

    var id: Int { read(Self.id, from: _id) }

    var name: String {
        get { read(Self.name, from: _name) }
        set { write(Self.name, from: _name, to: newValue) { _name = $0 } }
    }

    var nickname: String? {
        get { read(Self.nickname, from: _nickname) }
        set { write(Self.nickname, from: _nickname, to: newValue) { _nickname = $0 } }
    }

    var phones: [String] {
        get { read(Self.phones, from: _phones) }
        set { write(Self.phones, from: _phones, to: newValue) { _phones = $0 } }
    }

    var employer: Item {
        get { read(Self.employer, from: _employer) }
        set { write(Self.employer, from: _employer, to: newValue) { _employer = $0 } }
    }

    let addresses = ModelCollection<Item>()

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _id = visitor.visit(Self.id, with: _id)
        _name = visitor.visit(Self.name, with: _name)
        _nickname = visitor.visit(Self.nickname, with: _nickname)
        _phones = visitor.visit(Self.phones, with: _phones)
        _employer = visitor.visit(Self.employer, with: _employer)
        visitor.visit(Self.addresses, with: addresses)
    }

    static func make() -> Contact {
        let contact = Contact()
        contact.name = "Ada"
        contact.phones = ["1", "2"]
        contact.employer = Item.make(100)
        _ = try? contact.addresses.add(Item.make(101))
        return contact
    }

    static var fields: [TableField<Contact>] {
        [.value(\.name), .value(\.nickname), .values(\.phones), .model(\.employer), .models(\.addresses)]
    }
}

/// Returns the text of a row: an item's number and version, a contact's name, or another value's description.
func label(_ object: Any) -> String {
    switch object {
    case let item as Item: "item \(item.id)\(item.version > 0 ? ".\(item.version)" : "")"
    case let contact as Contact: contact.name
    default: "\(object)"
    }
}

extension TableSource {
    /// The texts of all rows, by section.
    var labels: [[String]] {
        (0..<numberOfSections).map { section in
            (0..<numberOfRows(in: section)).map { row in
                representedObject(at: RowPath(section: section, row: row)).map(label) ?? "none"
            }
        }
    }
}

extension ModelCollection where Object == Item {
    /// Returns a collection of items with ids from 1, one for each letter of a text, which is its group.
    static func items(_ groups: String) -> ModelCollection {
        let collection = ModelCollection()
        for (index, group) in groups.enumerated() {
            _ = try? collection.add(Item.make(index + 1, rank: index, group: String(group)))
        }
        return collection
    }
}
