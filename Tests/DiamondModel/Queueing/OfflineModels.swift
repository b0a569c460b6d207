import Diamond
import DiamondModel

/// An object of the offline game. Its tag never changes, so that it is found on the server, whatever its id is.
class OfflinePiece: Model {
    static let tag = Property(\OfflinePiece.tag, "tag")
    static let text = Property(\OfflinePiece.text, "text")
    static let stars = Property(\OfflinePiece.stars, "stars")

    private var _tag = ""
    private var _text = ""
    private var _stars = 0

    var tag: String {
        get { read(OfflinePiece.tag, from: _tag) }
        set { write(OfflinePiece.tag, from: _tag, to: newValue) { _tag = $0 } }
    }

    var text: String {
        get { read(OfflinePiece.text, from: _text) }
        set { write(OfflinePiece.text, from: _text, to: newValue) { _text = $0 } }
    }

    var stars: Int {
        get { read(OfflinePiece.stars, from: _stars) }
        set { write(OfflinePiece.stars, from: _stars, to: newValue) { _stars = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _tag = visitor.visit(OfflinePiece.tag, with: _tag)
        _text = visitor.visit(OfflinePiece.text, with: _text)
        _stars = visitor.visit(OfflinePiece.stars, with: _stars)
    }
}

final class OfflineAlbum: OfflinePiece {
    override class var resource: Request? { Request("albums") }
}

/// An object that names its album, and whose list is below the album's URL.
final class OfflineTrack: OfflinePiece {
    static let album = Property(\OfflineTrack.album, "album")

    private var _album = ParentReference<OfflineAlbum>()

    var album: ParentReference<OfflineAlbum> {
        get { read(OfflineTrack.album, from: _album) }
        set { write(OfflineTrack.album, from: _album, to: newValue) { _album = $0 } }
    }

    override func visit(_ visitor: PropertyVisitor) {
        super.visit(visitor)
        _album = visitor.visit(OfflineTrack.album, with: _album)
    }
}

extension OfflinePiece {
    /// Sets properties by their keys.
    func setValues(_ values: [String: JSONValue], tag: String? = nil) {
        if let tag { self.tag = tag }
        if case .string(let text)? = values["text"] { self.text = text }
        if case .integer(let stars)? = values["stars"] { self.stars = Int(stars) }
    }
}
