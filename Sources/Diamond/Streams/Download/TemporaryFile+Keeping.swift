import Crypto
import DiamondSQLite
import Foundation

/// Keeping a file for a later process, and taking one over.
extension TemporaryFile {
    /// Returns the values by which a row names the file.
    ///
    /// - Parameter isSynced: whether the file is synced to the disk before.
    func part(isSynced: Bool) throws -> ReceivedPart {
        let name = location.withLock { $0.keptName }
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
    func note(_ piece: Data, in contents: inout Contents) throws {
        let previous = ReceivedBytes(
            size: contents.size, digest: try digest(of: contents.size, in: &contents))
        contents.hash.update(data: piece)
        contents.hashedSize += piece.count
        let last = ReceivedBytes(size: contents.hashedSize, digest: Data(contents.hash.finalize()))
        try put(last, after: previous)
    }

    private func put(_ last: ReceivedBytes, after previous: ReceivedBytes) throws {
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
                if isLonger { try put(ReceivedBytes(size: size, digest: Data(hash.finalize())), after: recorded) }
                try Self.check(ftruncate(descriptor, off_t(size + (isLonger ? ReceivedBytes.pairSize : 0))))
                contents.size = size
                contents.hash = hash
                contents.hashedSize = size
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
    func read(at offset: Int64, atMost length: Int) throws -> Data {
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
        try location.withLock { location in
            if !location.isKept { try setName(of: &location, location.keptName, isKept: true) }
        }
    }

    /// Gives a kept file another name, so that no row names it.
    func release() throws {
        try location.withLock { location in
            if location.isKept, location.exists {
                try setName(of: &location, PartFile.name(isKept: false), isKept: false)
            }
            location.keptName = PartFile.name(isKept: true)
        }
    }

    private func setName(of location: inout Location, _ name: String, isKept: Bool) throws {
        guard location.exists else { throw POSIXError(.ENOENT) }
        let path = directory + "/" + name
        try Self.check(rename(location.path, path))
        location.path = path
        location.isKept = isKept
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
