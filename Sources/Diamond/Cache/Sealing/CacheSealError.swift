public import Foundation

/// A failure of sealing or opening.
public struct CacheSealError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of failure; new ones may come.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The value was sealed with a key that is not among those given.
        public static let unknownKey = Code(description: "unknownKey")
        /// The value was changed or damaged, or stands in another's place. Or the key has the name of another one.
        public static let notAuthentic = Code(description: "notAuthentic")
        /// The bytes given as a key are no key.
        public static let badKey = Code(description: "badKey")
    }

    /// The kind of failure; a store acts on it.
    public var code: Code
    /// The failure and the remedy, in one line, without secrets.
    public var message: String

    /// Creates an error, for a ``CacheSeal`` of your own.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }

    public var errorDescription: String? { message }
}
