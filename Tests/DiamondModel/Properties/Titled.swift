// Protocols that require properties of models. The models are in another file, as in an app.

protocol Titled {
    var title: String { get }
}

protocol Ranked: AnyObject {
    var rank: Int { get set }
    var tags: [String] { get }
    var mood: Mood { get set }
}

enum Mood: String {
    case calm, wild
}

extension Titled {
    var heading: String { "# \(title)" }
}

enum TitledReader {
    static func heading(of book: Book) -> String { book.title + book.heading }
}

#if Macros
extension TitledReader {
    static func heading(of book: ByMacro.Book) -> String { book.title + book.heading }
}
#endif
