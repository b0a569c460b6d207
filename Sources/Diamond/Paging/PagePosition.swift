/// The position in a paged list: the page that is loaded next.
///
/// It is `Codable`, so that loading can continue after a restart.
public enum PagePosition: Hashable, Sendable, Codable {
    /// The first page.
    case start
    /// The page after a number of items.
    case offset(Int)
    /// The page with a number, after a number of items.
    case number(Int, after: Int)
    /// The page at a server's cursor.
    case cursor(JSONValue)
    /// The page of the items before (usually older than) the item with an id.
    case before(JSONValue)
    /// The page with a URL.
    case url(String)
    /// The end of the list.
    case end
}

extension PagePosition: CustomStringConvertible {
    /// The kind of position, with its offset or number. A server's cursor, id or URL is left out, because it may be
    /// secret.
    public var description: String {
        switch self {
        case .start: "start"
        case .offset(let offset): "offset \(offset)"
        case .number(let number, _): "page \(number)"
        case .cursor: "cursor"
        case .before: "item"
        case .url: "URL"
        case .end: "end"
        }
    }
}
