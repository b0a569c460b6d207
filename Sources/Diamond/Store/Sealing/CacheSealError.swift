import DiamondSQLite
import Foundation

/// A failure of sealing or opening.
public struct CacheSealError: MessageError, Hashable, Sendable {
    /// The kind of a failure. Later versions may add kinds.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The value was sealed with a key that is not among those given.
        public static let unknownKey = Code(description: "unknownKey")
        /// The value was changed, damaged or moved to another place, or another key has the same name.
        public static let notAuthentic = Code(description: "notAuthentic")
        /// The bytes passed as a key are not a valid key.
        public static let badKey = Code(description: "badKey")
    }

    /// The kind of failure. It decides what the store does with the value (``CacheSeal/open(_:keyID:context:)``).
    public let code: Code
    /// The failure and the remedy, in one line, without secrets.
    public let message: String

    /// Creates an error, for a ``CacheSeal`` of your own.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}

extension SQLiteError {
    init(cannotSeal error: any Error, path: String) {
        self.init(.cannotSeal, "its seal failed, \(CacheSealError.reason(of: error))", path: path)
    }
}

extension CacheSealError {
    /// Returns the message of a ``CacheSealError``, or else the name of the error's type: its text may contain
    /// anything.
    static func reason(of error: any Error) -> String {
        (error as? CacheSealError)?.message ?? String(describing: type(of: error))
    }
}
