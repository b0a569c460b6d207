package import DiamondSQLite
import Foundation

/// A failure of a store.
public struct CacheError: MessageError, Hashable, Sendable {
    /// The kind of a failure. Later versions may add kinds.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// The directory or the file cannot be created or opened.
        public static let cannotOpen = Code(description: "cannotOpen")
        /// The store does not exist yet.
        public static let noStore = Code(description: "noStore")
        /// A newer version of Diamond wrote the store.
        public static let newerStore = Code(description: "newerStore")
        /// The file at the store's path belongs to another program.
        package static let foreignFile = Code(description: "foreignFile")
        /// This user may not write the file or its directory.
        public static let readOnly = Code(description: "readOnly")
        /// There is no space left on the disk.
        public static let diskFull = Code(description: "diskFull")
        /// Another process holds the file for too long. A write waits 30 seconds, a read one second or less.
        public static let busy = Code(description: "busy")
        /// The process is a fork of the one that opened the cache: open another cache after the fork.
        public static let forked = Code(description: "forked")
        /// A read or write of the disk failed.
        package static let diskError = Code(description: "diskError")
        /// The server of a storage cannot be reached, or does not answer in time. Requests continue without the cache.
        public static let unreachable = Code(description: "unreachable")
        /// The seal cannot seal or open the store's secret, or an entry.
        public static let cannotSeal = Code(description: "cannotSeal")
        /// An entry was replaced, evicted or erased while its body was read or written in pieces.
        public static let entryGone = Code(description: "entryGone")
        /// A body takes more than a quarter of the capacity without the log.
        package static let bodyTooLarge = Code(description: "bodyTooLarge")
        /// The file is damaged. Engines set it aside and create another.
        public static let corrupt = Code(description: "corrupt")
        /// Another failure. The message describes it.
        public static let other = Code(description: "other")
    }

    /// The kind of failure.
    public let code: Code
    /// The message: what happened and what to do, in one line, without secrets.
    public let message: String

    /// Creates an error, for tests and for errors in an app's own terms.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package init(_ error: SQLiteError) {
        code = Self.codes[error.code] ?? Self.codes[error.code.primary] ?? .other
        message = error.summary
    }

    /// Whether other changes may be written although this one failed. If the file cannot be opened, each further change
    /// would wait as long again.
    var mayConcernOneChange: Bool {
        ![.cannotOpen, .noStore, .newerStore, .foreignFile, .readOnly, .busy, .forked, .unreachable].contains(code)
    }

    private static let codes: [SQLiteError.Code: Code] = [
        .cannotOpen: .cannotOpen, .newerSchema: .newerStore, .foreignFile: .foreignFile, .readOnly: .readOnly,
        .full: .diskFull, .busy: .busy, .corrupt: .corrupt, .notADatabase: .corrupt, .schemaMismatch: .corrupt,
        .ioError: .diskError, .noSharedMemory: .diskFull, .cannotSeal: .cannotSeal,
        .entryGone: .entryGone, .forked: .forked, .notAFile: .cannotOpen, .notOurs: .cannotOpen,
        .notPrivate: .cannotOpen,
    ]
}

extension SQLiteError.Code {
    /// The seal failed to seal a value, or to open the secret.
    static let cannotSeal = Self(rawValue: -16)
    /// The row of a partial entry was replaced or removed.
    static let entryGone = Self(rawValue: -17)
}
