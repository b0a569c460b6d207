#if Tools
import Crypto
import Diamond
import Foundation

/// The first line of an archive.
struct ArchiveHeader: Codable {
    static let version = 1
    /// The beginning of every archive: members are sorted.
    static let beginning = Data(#"{"format":"diamond-archive","#.utf8)

    enum Kind: String, Codable {
        case cache, queue

        /// The command that reads it.
        var command: String { self == .cache ? "cachectl import" : "cachectl queue import" }
        /// The number of bytes of the longest line. The headers of an entry take the most of it. The line of a job has
        /// the body of its request, and any length.
        var longestLine: Int { self == .cache ? 16 << 20 : .max }
    }

    private var format = "diamond-archive"
    let kind: Kind
    /// ``Cache/secretID`` of an archived cache.
    var secret: String?
    private var version = Self.version

    init(_ kind: Kind, secret: String? = nil) {
        self.kind = kind
        self.secret = secret
    }
}

/// The version in the first line of an archive, also of one that this program cannot read.
struct ArchiveVersion: Decodable {
    let version: Int
}

/// The line after the body of an entry.
struct ArchiveChecksum: Codable, Equatable {
    /// The SHA-256 of the entry's line and body.
    let sha256: String

    init(_ hash: SHA256) { sha256 = Hex.text(of: hash.finalize()) }
}

/// The last line of an archive.
struct ArchiveEnd: Codable, Equatable {
    /// The beginning of the line.
    static let beginning = Data(#"{"entries":"#.utf8)

    let entries: Int
    /// The SHA-256 of everything before the line.
    let sha256: String

    init(entries: Int, _ hash: SHA256) {
        self.entries = entries
        sha256 = Hex.text(of: hash.finalize())
    }
}

/// A reason why an archive cannot be read to its end.
struct ArchiveProblem: Error {
    /// The damage, its place, and the remedy.
    let message: String
    /// Whether the archive is sound, and for another program or command.
    var isMisplaced = false
}
#endif
