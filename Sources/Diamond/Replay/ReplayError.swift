package import DiamondSQLite
import Foundation

/// An error of the replay queue.
public struct ReplayError: MessageError, Hashable, Sendable {
    /// The kind of a failure. Later versions may add kinds.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the kind, such as `queueFull`.
        public let description: String

        /// The request cannot be encoded, or contains a secret that must not be stored.
        public static let badRequest = Code(description: "badRequest")
        /// The stored call of a job is no value of the type asked for.
        public static let undecodable = Code(description: "undecodable")
        /// The queue has reached its limit of open jobs.
        public static let queueFull = Code(description: "queueFull")
        /// There is no such job.
        public static let noJob = Code(description: "noJob")
        /// The job's state does not allow the operation.
        public static let wrongState = Code(description: "wrongState")
        /// Another job has the same unique name.
        public static let notUnique = Code(description: "notUnique")
        /// The request needs the id of an object that no job creates.
        package static let missingObject = Code(description: "missingObject")
        /// The request needs the id of an object whose own job waits for this one.
        package static let waitsForItself = Code(description: "waitsForItself")
        /// Two requests with the same unique name cannot be merged.
        public static let cannotMerge = Code(description: "cannotMerge")
        /// The directory or the file cannot be created or opened.
        public static let cannotOpen = Code(description: "cannotOpen")
        /// The store does not exist yet.
        public static let noStore = Code(description: "noStore")
        /// A newer version of Diamond wrote the queue.
        public static let newerStore = Code(description: "newerStore")
        /// The file at the queue's path belongs to another program.
        package static let foreignFile = Code(description: "foreignFile")
        /// This user may not write the file or its directory.
        public static let readOnly = Code(description: "readOnly")
        /// There is no space left on the disk; nothing was added.
        public static let diskFull = Code(description: "diskFull")
        /// Another process has locked the file for longer than 30 seconds.
        public static let busy = Code(description: "busy")
        /// The server of the queue's storage cannot be reached, or does not answer in time.
        public static let unreachable = Code(description: "unreachable")
        /// A read or write of the disk failed.
        package static let diskError = Code(description: "diskError")
        /// The file is damaged. It is left as it is, because its jobs may exist nowhere else.
        public static let corrupt = Code(description: "corrupt")
        /// The queue is sealed, and there is no seal, or the seal does not have the key or fails. The jobs stay as they
        /// are.
        public static let cannotSeal = Code(description: "cannotSeal")
        /// The engine has a seal, and its queue is on a server, where jobs are not sealed
        /// (``QueuePlace/server(_:allowsClearText:open:)``).
        public static let notSealed = Code(description: "notSealed")
        /// The queue was closed.
        public static let closed = Code(description: "closed")
        /// Another failure. The message describes it.
        public static let other = Code(description: "other")
    }

    /// The kind of failure.
    public let code: Code
    /// A description of the error and its remedy, in one line, without secrets.
    public let message: String

    /// Creates an error, for tests.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message.printable
    }

    init(_ error: RequestError) { self.init(.badRequest, error.message) }

    package init(_ error: SQLiteError) {
        let code = Self.codes[error.code] ?? Self.codes[error.code.primary] ?? .other
        // A cache's file is replaced when it is damaged. The queue's file must not be, so its message differs.
        let message =
            switch code {
            case .corrupt: "\(error.path): \(error.message): \(Self.remedyOfDamage)"
            // It is no error of SQLite.
            case .cannotSeal: "\(error.path): \(error.message)"
            default: error.summary
            }
        self.init(code, message)
    }

    /// Whether the same operation may succeed a moment later.
    public var isTransient: Bool { [.busy, .diskFull, .diskError, .cannotSeal, .unreachable].contains(code) }

    /// Whether an open queue may be used again later. This includes the case that the process has too many open files.
    var isTransientWhenOpen: Bool { isTransient || code == .cannotOpen }

    // Not sqlite3's .recover: that of Debian 12 recovers nothing, and loses the application id.
    package static let remedyOfDamage = """
        keep a copy, save what can be read with 'cachectl queue export', move replay.sqlite* away, and import the \
        export; or replace the file by a backup
        """

    private static let codes: [SQLiteError.Code: Code] = [
        .cannotOpen: .cannotOpen, .newerSchema: .newerStore, .foreignFile: .foreignFile, .readOnly: .readOnly,
        .full: .diskFull, .busy: .busy, .corrupt: .corrupt, .notADatabase: .corrupt, .schemaMismatch: .corrupt,
        .ioError: .diskError, .noSharedMemory: .diskFull, .notAFile: .cannotOpen, .notOurs: .cannotOpen,
        .notPrivate: .cannotOpen, .cannotSeal: .cannotSeal,
    ]
}
