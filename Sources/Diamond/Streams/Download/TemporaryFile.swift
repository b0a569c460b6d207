import Crypto
import DiamondSQLite
import Foundation

/// A temporary file in the directory of its target (``PartFile``), locked while it is open. It is removed unless it is
/// renamed, or kept for a later process. In a sealed store its contents are sealed (``SealedPart``). In clear, a kept
/// file ends with the length and digest of its contents (``ReceivedBytes``).
///
/// Every call may block, and throws `POSIXError`, or the error of the seal. One task at a time reads and writes the
/// contents.
final class TemporaryFile: Sendable {
    struct Location {
        var path: String
        /// The name of the file if it is kept.
        var keptName = PartFile.name(isKept: true)
        var isKept = false
        var exists = true
    }

    struct Contents {
        /// The number of received bytes.
        var size = 0
        /// The digest of the first `hashedSize` bytes. Not used if the file is sealed.
        var hash = SHA256()
        var hashedSize = 0
        /// `nil` in clear.
        var sealed: SealedPart?
    }

    let descriptor: Int32
    let directory: String
    private let write: DownloadFile.Write
    let location: Guarded<Location>
    let contents: Guarded<Contents>

    /// - Parameter seal: the seal of the contents; `nil` in clear.
    init(for target: String, seal: (any CacheSeal)? = nil, _ write: @escaping DownloadFile.Write) throws {
        self.write = write
        var isDirectory = ObjCBool(false)
        if FileManager.default.fileExists(atPath: target, isDirectory: &isDirectory), isDirectory.boolValue {
            throw POSIXError(.EISDIR)
        }
        let parent = (target as NSString).deletingLastPathComponent
        directory = parent.isEmpty ? "." : parent
        let (path, descriptor) = try Self.make(in: directory)
        self.descriptor = descriptor
        location = Guarded(Location(path: path))
        contents = Guarded(Contents(sealed: seal.map { SealedPart($0) }))
    }

    /// Takes over a file that another process has kept.
    ///
    /// - Parameters:
    ///   - descriptor: a descriptor that holds the lock of the file.
    ///   - sealed: the contents of a sealed file; `nil` in clear.
    init(kept path: String, open descriptor: Int32, sealed: SealedPart?, _ write: @escaping DownloadFile.Write) {
        self.write = write
        self.descriptor = descriptor
        directory = (path as NSString).deletingLastPathComponent
        location = Guarded(Location(path: path, keptName: (path as NSString).lastPathComponent, isKept: true))
        contents = Guarded(Contents(sealed: sealed))
    }

    deinit {
        if !location.withLock({ $0.isKept }) { remove() }
        close(descriptor)
    }

    /// Discards all bytes, and the name by which other processes find them.
    func empty() throws {
        try release()
        try Self.check(ftruncate(descriptor, 0))
        contents.withLock { $0 = Contents(sealed: $0.sealed?.emptied()) }
    }

    func append(_ piece: Data) throws {
        let isKept = location.withLock { $0.isKept }
        try contents.withLock { contents in
            if contents.sealed != nil {
                try contents.sealed?.append(piece, write: put(_:at:))
                contents.size += piece.count
                return
            }
            // A copy, so that a failure changes nothing.
            var changed = contents
            try appendClear(piece, to: &changed, isKept: isKept)
            contents = changed
        }
    }

    // In parts, so that a process that is killed during the write loses at most one of them.
    private func appendClear(_ piece: Data, to contents: inout Contents, isKept: Bool) throws {
        var rest = piece
        while !rest.isEmpty {
            let part = rest.prefix(ReceivedBytes.largestStep)
            if isKept { try note(part, in: &contents) }
            try put(part, at: Int64(contents.size))
            contents.size += part.count
            rest = rest.dropFirst(part.count)
        }
    }

    func put(_ bytes: Data, at offset: Int64) throws {
        try Self.check(Int32(truncatingIfNeeded: min(lseek(descriptor, off_t(offset), SEEK_SET), 0)))
        try bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = write(descriptor, UnsafeRawBufferPointer(rebasing: rest))
                if count < 0, errno == EINTR { continue }
                try Self.check(count < 0 ? -1 : 0)
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Syncs the file and renames it to its target. Even after a crash of the machine no incomplete file is at that
    /// path. Sealed contents are opened into another file.
    func move(to target: String) throws {
        let (size, isSealed) = contents.withLock { ($0.size, $0.sealed != nil) }
        guard !isSealed else {
            try opened(for: target).move(to: target)
            return remove()
        }
        try Self.check(ftruncate(descriptor, off_t(size)))
        try flush()
        try location.withLock { location in
            try Self.check(rename(location.path, target))
            location.exists = false
        }
    }

    /// Returns another file with the sealed contents in clear. If the disk has no room for both, each chunk is cut off
    /// when it is in the other file, the last one first: the rest is still a beginning, which a later download
    /// continues.
    private func opened(for target: String) throws -> TemporaryFile {
        let clear = try TemporaryFile(for: target, write)
        try contents.withLock { contents in
            do {
                try contents.sealed?.forEach(read: read(at:atMost:)) { try clear.append($0) }
            } catch let error as POSIXError where [.ENOSPC, .EDQUOT].contains(error.code) {
                try clear.empty()
                try clear.takeAll(from: &contents, of: self)
            }
        }
        return clear
    }

    private func takeAll(from contents: inout Contents, of file: TemporaryFile) throws {
        let size = contents.size
        defer { contents.size = contents.sealed?.size ?? 0 }
        try contents.sealed?.removeAll(
            read: file.read(at:atMost:), truncate: { try Self.check(ftruncate(file.descriptor, off_t($0))) },
            put(_:at:))
        self.contents.withLock { $0.size = size }
    }

    func flush() throws {
        #if canImport(Darwin)
        // There, `fsync` leaves the data in the drive's cache, and may reorder it. Not every file system supports
        // `F_FULLFSYNC`.
        if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        try Self.check(fsync(descriptor))
    }

    // MARK: The end

    /// Removes the files that killed processes have left in the same directory.
    func removeAbandoned() { Self.removeAbandoned(in: directory) }

    func remove() {
        location.withLock { location in
            if location.exists { unlink(location.path) }
            location.exists = false
        }
    }

    static func check(_ result: Int32) throws {
        guard result < 0 else { return }
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
}
