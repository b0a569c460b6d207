/// The position in a list that is loaded by pages: the page that comes next.
///
/// `Codable`, so that a list can be read on after a restart.
public enum PagePosition: Hashable, Sendable, Codable {
    /// Before the first page.
    case start
    /// Behind a number of items.
    case offset(Int)
    /// Before the page with a number, and behind a number of items.
    case number(Int, after: Int)
    /// At a cursor of the server's.
    case cursor(JSONValue)
    /// Behind the item with an id.
    case before(JSONValue)
    /// At the URL of a page.
    case url(String)
    /// Behind the last page.
    case end
}

extension PagePosition: CustomStringConvertible {
    /// The position without what a server's cursor or URL holds, which may be secret.
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

/// An error of paging.
public struct PagingError: Error, Hashable, Sendable, CustomStringConvertible {
    public struct Code: Hashable, Sendable {
        let name: String

        /// The body does not hold a list where the format says.
        public static let noItems = Code(name: "noItems")
        /// The next page is at another origin.
        public static let otherOrigin = Code(name: "otherOrigin")
        /// The position belongs to another scheme.
        public static let otherScheme = Code(name: "otherScheme")
    }

    public let code: Code
    /// A description of the error, with its remedy.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(code.name): \(message)" }
}
