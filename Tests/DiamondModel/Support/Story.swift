import DiamondModel

/// A model with an inherited, a nested and a computed sort key.
final class Story: Piece {
    static let author = Property(\Story.author, "author")
    static let likes = Property(\Story.likes, "likes")

    private var _author = Writer()
    private var _likes = 0

    var author: Writer {
        get { read(Self.author, from: _author) }
        set { write(Self.author, from: _author, to: newValue) { _author = $0 } }
    }

    var likes: Int {
        get { read(Self.likes, from: _likes) }
        set { write(Self.likes, from: _likes, to: newValue) { _likes = $0 } }
    }

    /// The author's name and the title.
    var label: String { "\(author.name) \(title)" }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _author = visitor.visit(Self.author, with: _author)
        _likes = visitor.visit(Self.likes, with: _likes)
    }
}

class Piece: Model {
    static let title = Property(\Piece.title, "title")
    static let note = Property(nullable: \Piece.note, "note")

    private var _title = ""
    private var _note: String?

    var title: String {
        get { read(Piece.title, from: _title) }
        set { write(Piece.title, from: _title, to: newValue) { _title = $0 } }
    }

    var note: String? {
        get { read(Piece.note, from: _note) }
        set { write(Piece.note, from: _note, to: newValue) { _note = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _title = visitor.visit(Piece.title, with: _title)
        _note = visitor.visit(Piece.note, with: _note)
    }
}

final class Writer: Model {
    static let name = Property(\Writer.name, "name")
    static let age = Property(\Writer.age, "age")

    private var _name = ""
    private var _age = 0

    var name: String {
        get { read(Self.name, from: _name) }
        set { write(Self.name, from: _name, to: newValue) { _name = $0 } }
    }

    var age: Int {
        get { read(Self.age, from: _age) }
        set { write(Self.age, from: _age, to: newValue) { _age = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _name = visitor.visit(Self.name, with: _name)
        _age = visitor.visit(Self.age, with: _age)
    }
}
