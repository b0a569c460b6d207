import DiamondSQLite
public import Foundation

/// Why a store cannot be used.
public struct CacheError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
    /// The kinds of failure; new ones may come.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The directory or the file cannot be made or opened.
        public static let cannotOpen = Code(description: "cannotOpen")
        /// There is nothing to open yet.
        public static let noStore = Code(description: "noStore")
        /// A newer version of Diamond wrote the store.
        public static let newerStore = Code(description: "newerStore")
        /// The file in the store's place is another program's.
        public static let foreignFile = Code(description: "foreignFile")
        /// The file or its directory cannot be written by this user.
        public static let readOnly = Code(description: "readOnly")
        /// There is no space left on the disk.
        public static let diskFull = Code(description: "diskFull")
        /// Another process holds the file, for longer than is waited: 30 seconds where something is written, a second or
        /// less where something is only looked at.
        public static let busy = Code(description: "busy")
        /// The process is a fork of the one that opened the cache: open one after the fork.
        public static let forked = Code(description: "forked")
        /// The disk fails to read or write.
        public static let diskError = Code(description: "diskError")
        /// The seal cannot seal or open the store's secret, or an entry.
        public static let cannotSeal = Code(description: "cannotSeal")
        /// An entry was replaced, evicted or erased while its body was read or written in pieces.
        public static let entryGone = Code(description: "entryGone")
        /// A body takes more than a quarter of the store's bound.
        package static let bodyTooLarge = Code(description: "bodyTooLarge")
        /// The file is damaged. Engines set it aside, and begin another.
        public static let corrupt = Code(description: "corrupt")
        /// Something else; the message says what.
        public static let other = Code(description: "other")
    }

    /// Which kind of failure it is.
    public var code: Code
    /// What happened and what to do, in one line, without secrets.
    public var message: String

    /// For tests, and stores' errors in an app's own terms.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }

    public var errorDescription: String? { message }

    init(_ error: SQLiteError) {
        code = Self.codes[error.code] ?? Self.codes[error.code.primary] ?? .other
        message = error.summary
    }

    /// Whether another change might be written where this failed. Where the file cannot be had at all, each would wait for as
    /// long again.
    var mayBeOfOneChange: Bool {
        ![.cannotOpen, .noStore, .newerStore, .foreignFile, .readOnly, .busy, .forked].contains(code)
    }

    private static let codes: [SQLiteError.Code: Code] = [
        .cannotOpen: .cannotOpen, .newerSchema: .newerStore, .foreignFile: .foreignFile, .readOnly: .readOnly,
        .full: .diskFull, .busy: .busy, .corrupt: .corrupt, .notADatabase: .corrupt, .unfit: .corrupt,
        .ioError: .diskError, .noSharedMemory: .diskFull, .cannotSeal: .cannotSeal,
        .entryGone: .entryGone, .forked: .forked, .notAFile: .cannotOpen, .notOurs: .cannotOpen,
        .notPrivate: .cannotOpen,
    ]
}
