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
    private struct State {
        var path: String
        /// The name of the file if it is kept.
        var keptName = PartFile.name(isKept: true)
        var isKept = false
        var exists = true
    }

    private struct Contents {
        /// The number of received bytes.
        var size = 0
        /// The digest of the first `hashedSize` bytes. Not used if the file is sealed.
        var hash = SHA256()
        var hashedSize = 0
        /// `nil` in clear.
        var sealed: SealedPart?
    }

    private let descriptor: Int32
    private let directory: String
    private let write: DownloadFile.Write
    private let state: Guarded<State>
    private let contents: Guarded<Contents>

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
        state = Guarded(State(path: path))
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
        state = Guarded(State(path: path, keptName: (path as NSString).lastPathComponent, isKept: true))
        contents = Guarded(Contents(sealed: sealed))
    }

    deinit {
        if !state.withLock({ $0.isKept }) { remove() }
        close(descriptor)
    }

    /// Discards all bytes, and the name by which other processes find them.
    func empty() throws {
        try release()
        try Self.check(ftruncate(descriptor, 0))
        contents.withLock { $0 = Contents(sealed: $0.sealed?.emptied()) }
    }

    func append(_ piece: Data) throws {
        let isKept = state.withLock { $0.isKept }
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

    private func put(_ bytes: Data, at offset: Int64) throws {
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
        try state.withLock { state in
            try Self.check(rename(state.path, target))
            state.exists = false
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

    private func flush() throws {
        #if canImport(Darwin)
        // There, `fsync` leaves the data in the drive's cache, and may reorder it. Not every file system supports
        // `F_FULLFSYNC`.
        if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
        #endif
        try Self.check(fsync(descriptor))
    }

    // MARK: Keeping

    /// Returns the values by which a row names the file.
    ///
    /// - Parameter isSynced: whether the file is synced to the disk before.
    func part(isSynced: Bool) throws -> ReceivedPart {
        let name = state.withLock { $0.keptName }
        let part = try contents.withLock { contents in try self.part(named: name, in: &contents) }
        if isSynced { try sync() }
        return part
    }

    private func part(named name: String, in contents: inout Contents) throws -> ReceivedPart {
        guard let sealed = contents.sealed else {
            return ReceivedPart(name: name, digest: try digest(of: contents.size, in: &contents), contentID: "")
        }
        try sealed.flush(write: put(_:at:))
        return ReceivedPart(name: name, digest: Data(), contentID: sealed.id)
    }

    private func sync() throws {
        #if canImport(Darwin)
        try flush()
        #else
        try Self.check(fdatasync(descriptor))
        #endif
    }

    /// Writes the length and digest that the contents have with the next piece, after the place of that piece.
    private func note(_ piece: Data, in contents: inout Contents) throws {
        let previous = ReceivedBytes(
            size: contents.size, digest: try digest(of: contents.size, in: &contents))
        contents.hash.update(data: piece)
        contents.hashedSize += piece.count
        let last = ReceivedBytes(size: contents.hashedSize, digest: Data(contents.hash.finalize()))
        try put(last, previous)
    }

    private func put(_ last: ReceivedBytes, _ previous: ReceivedBytes) throws {
        let pair = ReceivedBytes.pair(last, previous)
        let count = pair.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, off_t(last.size)) }
        try Self.check(count < 0 ? -1 : 0)
    }

    /// Continues a file that another process has kept: with the chunks that the seal opens, or with the most bytes
    /// whose digest is right.
    ///
    /// - Parameter recorded: the bytes that the row names.
    /// - Returns: the number of bytes; 0 if the file cannot be continued.
    func restore(_ recorded: ReceivedBytes) throws -> Int {
        try contents.withLock { contents in
            if contents.sealed != nil {
                try contents.sealed?.restore(read: read(at:atMost:))
                contents.size = contents.sealed?.size ?? 0
            } else if let (size, hash) = try confirmed(recorded, in: &contents) {
                // First, so that a process that is killed here loses nothing. The row has these bytes otherwise.
                let isLonger = size > recorded.size
                if isLonger { try put(ReceivedBytes(size: size, digest: Data(hash.finalize())), recorded) }
                try Self.check(ftruncate(descriptor, off_t(size + (isLonger ? ReceivedBytes.pairSize : 0))))
                (contents.size, contents.hash, contents.hashedSize) = (size, hash, size)
            }
            return contents.size
        }
    }

    private func confirmed(_ recorded: ReceivedBytes, in contents: inout Contents) throws
        -> (size: Int, hash: SHA256)?
    {
        let length = Int(PartFile.size(of: descriptor))
        let end = max(0, length - ReceivedBytes.pairSize)
        let noted = ReceivedBytes.pair(from: try read(at: Int64(end), atMost: ReceivedBytes.pairSize), after: end)
        var found: (size: Int, hash: SHA256)?
        for bytes in [recorded] + noted.filter({ $0.size > recorded.size }) where bytes.size <= length {
            guard try digest(of: bytes.size, in: &contents) == bytes.digest else { break }
            found = (bytes.size, contents.hash)
        }
        return found
    }

    /// Returns the SHA-256 digest of the first bytes of the file. Reads only those that the last call has not read.
    private func digest(of size: Int, in contents: inout Contents) throws -> Data {
        // A piece was not written.
        if contents.hashedSize > size { (contents.hash, contents.hashedSize) = (SHA256(), 0) }
        while contents.hashedSize < size {
            let piece = try read(
                at: Int64(contents.hashedSize), atMost: min(size - contents.hashedSize, 1 << 18))
            // The file is shorter than it was.
            guard !piece.isEmpty else { throw POSIXError(.EIO) }
            contents.hash.update(data: piece)
            contents.hashedSize += piece.count
        }
        return Data(contents.hash.finalize())
    }

    /// Reads bytes; fewer at the end of the file.
    private func read(at offset: Int64, atMost length: Int) throws -> Data {
        var piece = Data(count: length)
        var total = 0
        while total < length {
            let count = piece.withUnsafeMutableBytes {
                pread(descriptor, $0.baseAddress?.advanced(by: total), length - total, off_t(offset) + off_t(total))
            }
            if count < 0, errno == EINTR { continue }
            try Self.check(count < 0 ? -1 : 0)
            guard count > 0 else { break }
            total += count
        }
        return piece.prefix(total)
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

/// The values by which a row names a file.
struct ReceivedPart: Sendable {
    /// The name that the file has when it is kept, the same until it is emptied or released.
    let name: String
    /// The SHA-256 digest of the received bytes; empty if the file is sealed.
    let digest: Data
    /// The id of sealed contents; empty in clear.
    let contentID: String
}
