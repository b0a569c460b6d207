import Foundation

/// An error of paging.
public struct PagingError: MessageError, Hashable, Sendable {
    /// The kind of an error. Later versions may add kinds.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The body does not contain a list at the format's path.
        public static let noItems = Code(description: "noItems")
        /// The next page has another origin.
        public static let otherOrigin = Code(description: "otherOrigin")
        /// The position belongs to another scheme.
        public static let otherScheme = Code(description: "otherScheme")
    }

    public let code: Code
    /// A description of the error, with its remedy.
    public let message: String

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
