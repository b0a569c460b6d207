import Diamond
import DiamondModel
import Foundation
import Observation

/// A model as the articles declare one: ten properties, among them rules, a date and an optional value.
final class Row: Model {
    static let id: Property<Row, Int> = Property(\.id, "id", access: .server)
    static let name: Property<Row, String> = Property(\.name, "name", or: "title", rules: [.nonEmpty])
    static let group: Property<Row, String> = Property(\.group, "group")
    static let rank: Property<Row, Int> = Property(\.rank, "rank")
    static let isOpen: Property<Row, Bool> = Property(\.isOpen, "isOpen")
    static let size: Property<Row, Double> = Property(\.size, "size")
    static let notes: Property<Row, String> = Property(\.notes, "notes")
    static let created: Property<Row, Date> = Property(\.created, "created", codec: .secondsSince1970)
    static let author: Property<Row, String> = Property(\.author, "author")
    static let answers: Property<Row, Int?> = Property(nullable: \.answers, "answers")

    private var _id = 0
    private var _name = ""
    private var _group = ""
    private var _rank = 0
    private var _isOpen = false
    private var _size = 0.0
    private var _notes = ""
    private var _created = Date.distantPast
    private var _author = ""
    private var _answers: Int?

    var id: Int { read(Self.id, from: _id) }

    var name: String {
        get { read(Self.name, from: _name) }
        set { write(Self.name, from: _name, to: newValue) { _name = $0 } }
    }

    var group: String {
        get { read(Self.group, from: _group) }
        set { write(Self.group, from: _group, to: newValue) { _group = $0 } }
    }

    var rank: Int {
        get { read(Self.rank, from: _rank) }
        set { write(Self.rank, from: _rank, to: newValue) { _rank = $0 } }
    }

    var isOpen: Bool {
        get { read(Self.isOpen, from: _isOpen) }
        set { write(Self.isOpen, from: _isOpen, to: newValue) { _isOpen = $0 } }
    }

    var size: Double {
        get { read(Self.size, from: _size) }
        set { write(Self.size, from: _size, to: newValue) { _size = $0 } }
    }

    var notes: String {
        get { read(Self.notes, from: _notes) }
        set { write(Self.notes, from: _notes, to: newValue) { _notes = $0 } }
    }

    var created: Date {
        get { read(Self.created, from: _created) }
        set { write(Self.created, from: _created, to: newValue) { _created = $0 } }
    }

    var author: String {
        get { read(Self.author, from: _author) }
        set { write(Self.author, from: _author, to: newValue) { _author = $0 } }
    }

    var answers: Int? {
        get { read(Self.answers, from: _answers) }
        set { write(Self.answers, from: _answers, to: newValue) { _answers = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _id = visitor.visit(Self.id, with: _id)
        _name = visitor.visit(Self.name, with: _name)
        _group = visitor.visit(Self.group, with: _group)
        _rank = visitor.visit(Self.rank, with: _rank)
        _isOpen = visitor.visit(Self.isOpen, with: _isOpen)
        _size = visitor.visit(Self.size, with: _size)
        _notes = visitor.visit(Self.notes, with: _notes)
        _created = visitor.visit(Self.created, with: _created)
        _author = visitor.visit(Self.author, with: _author)
        _answers = visitor.visit(Self.answers, with: _answers)
    }

    static func make(_ id: Int) throws -> Row { try Row(json: Record(id).json) }

    /// Creates a new object, which the server does not know.
    convenience init(new record: Record) {
        self.init()
        name = record.name
        group = record.group
        rank = record.rank
        isOpen = record.isOpen
        size = record.size
        notes = record.notes
        created = Date(timeIntervalSince1970: record.created)
        author = record.author
        answers = record.answers
    }
}

/// The values of a row, for a decoder of structs. Neither names nor ranks are in the order of the ids.
struct Record: Codable {
    let id: Int
    let name: String
    let group: String
    let rank: Int
    let isOpen: Bool
    let size: Double
    let notes: String
    let created: Double
    let author: String
    let answers: Int?

    init(_ id: Int) {
        self.id = id
        rank = id &* 7_368_787 % 1_000_003
        name = "Object \(rank) of the list"
        group = String(UnicodeScalar(UInt8(97 + id % 26)))
        isOpen = id % 3 == 0
        size = Double(id) / 4
        notes = "Some notes about object \(id)"
        created = 1_700_000_000 + Double(id)
        author = "Author \(id % 100)"
        answers = id % 10
    }

    var json: Diamond.JSONValue {
        [
            "id": .integer(Int64(id)), "name": .string(name), "group": .string(group), "rank": .integer(Int64(rank)),
            "isOpen": .bool(isOpen), "size": .number(size), "notes": .string(notes), "created": .number(created),
            "author": .string(author), "answers": .integer(Int64(answers ?? 0)),
        ]
    }

    /// The text of many records.
    static func text(_ ids: Range<Int>) throws -> Data { try JSONEncoder().encode(ids.map(Record.init)) }
}

@Observable
final class Plain {
    var rank = 0
}
