public import Foundation

/// Why something cannot be sealed or opened.
public struct CacheSealError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of failure; new ones may come.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The key that it was sealed with is not among those given.
        public static let unknownKey = Code(description: "unknownKey")
        /// It was changed, damaged, or stands in another's place; or the key has the name of another one.
        public static let notAuthentic = Code(description: "notAuthentic")
        /// The bytes of a key are none.
        public static let badKey = Code(description: "badKey")
    }

    /// Which kind of failure it is; a store acts on it.
    public var code: Code
    /// What happened and what to do, in one line, without secrets.
    public var message: String

    /// For a ``CacheSeal`` of your own.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }

    public var errorDescription: String? { message }
}
