import Diamond
import DiamondModel

/// A small model whose class has a URL.
final class Note: Model {
    static let id = Property(\Note.id, "id", access: .server)
    static let text = Property(\Note.text, "text", rules: [.nonEmpty])
    static let stars = Property(\Note.stars, "stars")

    private var _id = 0
    private var _text = ""
    private var _stars = 0

    var id: Int { read(Self.id, from: _id) }

    var text: String {
        get { read(Self.text, from: _text) }
        set { write(Self.text, from: _text, to: newValue) { _text = $0 } }
    }

    var stars: Int {
        get { read(Self.stars, from: _stars) }
        set { write(Self.stars, from: _stars, to: newValue) { _stars = $0 } }
    }

    override class var resource: Request? { Request("notes") }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _id = visitor.visit(Self.id, with: _id)
        _text = visitor.visit(Self.text, with: _text)
        _stars = visitor.visit(Self.stars, with: _stars)
    }
}

/// A note whose class has no URL.
final class ListedNote: Model {
    static let text = Property(\ListedNote.text, "text")
    private var _text = ""

    var text: String {
        get { read(Self.text, from: _text) }
        set { write(Self.text, from: _text, to: newValue) { _text = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _text = visitor.visit(Self.text, with: _text)
    }
}
