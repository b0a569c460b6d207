import Crypto
import DiamondSQLite
import Foundation

/// A temporary file in the directory of its target (``PartFile``), locked while it is open. It is removed unless it is
/// renamed, or kept for a later process.
///
/// Every call may block, and throws `POSIXError`.
final class TemporaryFile: Sendable {
    private struct State {
        var path: String
        /// The name of the file if it is kept.
        var keptName = PartFile.name(isKept: true)
        var isKept = false
        var exists = true
        /// The digest of the first `hashedSize` bytes.
        var hash = SHA256()
        var hashedSize = 0
    }

    private let descriptor: Int32
    private let directory: String
    private let write: DownloadFile.Write
    private let state: Guarded<State>

    init(for target: String, _ write: @escaping DownloadFile.Write) throws {
        self.write = write
        var isDirectory = ObjCBool(false)
        if FileManager.default.fileExists(atPath: target, isDirectory: &isDirectory), isDirectory.boolValue {
            throw POSIXError(.EISDIR)
        }
        let parent = (target as NSString).deletingLastPathComponent
        directory = parent.isEmpty ? "." : parent
        let (path, descriptor) = try Self.make(in: directory)
        self.descriptor = descriptor
        state = Guarded(State(path: path))
    }

    /// Takes over a file that another process has kept.
    ///
    /// - Parameter descriptor: a descriptor that holds the lock of the file.
    init(kept path: String, open descriptor: Int32, _ write: @escaping DownloadFile.Write) {
        self.write = write
        self.descriptor = descriptor
        directory = (path as NSString).deletingLastPathComponent
        state = Guarded(State(path: path, keptName: (path as NSString).lastPathComponent, isKept: true))
    }

    deinit {
        if !state.withLock({ $0.isKept }) { remove() }
        close(descriptor)
    }

    /// Discards all bytes, and the name by which other processes find them.
    func empty() throws {
        try release()
        try cut(to: 0)
    }

    /// Discards the bytes after a number of them. The next piece is written there.
    func cut(to size: Int) throws {
        try Self.check(ftruncate(descriptor, off_t(size)))
        try Self.check(Int32(truncatingIfNeeded: min(lseek(descriptor, off_t(size), SEEK_SET), 0)))
        state.withLock { state in
            guard state.hashedSize > size else { return }
            state.hash = SHA256()
            state.hashedSize = 0
        }
    }

    func append(_ piece: Data) throws {
        try piece.withUnsafeBytes { bytes in
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
    /// path.
    func move(to target: String) throws {
        try flush()
        try state.withLock { state in
            try Self.check(rename(state.path, target))
            state.exists = false
        }
    }

    private func flush() throws {
        #if canImport(Darwin)
        // There, `fsync` leaves the data in the drive's cache, and may reorder it. Not every file system supports
        // `F_FULLFSYNC`.
        if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        try Self.check(fsync(descriptor))
    }

    // MARK: Keeping

    /// Syncs the file to the disk.
    ///
    /// - Returns: the name that ``keep()`` gives the file, or has given it.
    func sync() throws -> String {
        #if canImport(Darwin)
        try flush()
        #else
        try Self.check(fdatasync(descriptor))
        #endif
        return state.withLock { $0.keptName }
    }

    /// Returns the SHA-256 digest of the first bytes of the file. Reads only those that the last call has not read.
    func digest(of size: Int) throws -> Data {
        try state.withLock { state in
            while state.hashedSize < size {
                let piece = try read(at: state.hashedSize, atMost: min(size - state.hashedSize, 1 << 18))
                state.hash.update(data: piece)
                state.hashedSize += piece.count
            }
            return Data(state.hash.finalize())
        }
    }

    private func read(at offset: Int, atMost length: Int) throws -> Data {
        var piece = Data(count: length)
        let count = piece.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
        if count < 0, errno == EINTR { return Data() }
        try Self.check(count < 0 ? -1 : 0)
        // The file is shorter than it was.
        guard count > 0 else { throw POSIXError(.EIO) }
        return piece.prefix(count)
    }

    /// Gives the file the name that other processes leave.
    func keep() throws {
        try state.withLock { state in
            if !state.isKept { try setName(of: &state, state.keptName, isKept: true) }
        }
    }

    /// Gives a kept file another name, so that no row names it.
    func release() throws {
        try state.withLock { state in
            if state.isKept, state.exists { try setName(of: &state, PartFile.name(isKept: false), isKept: false) }
            state.keptName = PartFile.name(isKept: true)
        }
    }

    private func setName(of state: inout State, _ name: String, isKept: Bool) throws {
        guard state.exists else { throw POSIXError(.ENOENT) }
        let path = directory + "/" + name
        try Self.check(rename(state.path, path))
        state.path = path
        state.isKept = isKept
    }

    // MARK: The end

    /// Removes the files that killed processes have left in the same directory.
    func removeAbandoned() { Self.removeAbandoned(in: directory) }

    func remove() {
        state.withLock { state in
            if state.exists { unlink(state.path) }
            state.exists = false
        }
    }

    static func check(_ result: Int32) throws {
        guard result < 0 else { return }
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO)
    }
}
