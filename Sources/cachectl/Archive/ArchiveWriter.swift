#if Tools
import Crypto
import Diamond
import DiamondSQLite
import Foundation

/// Writes an archive into a temporary file next to its path. ``finish()`` gives it its name. Only the owner can read it.
///
/// The temporary file is removed if the writer is released before, and by SIGINT, SIGTERM and SIGHUP. Devices, pipes,
/// links and directories are refused: the file would replace them.
final class ArchiveWriter {
    private let path: String
    private let temporaryPath: String
    private let file: FileHandle
    private let longestLine: Int
    private let interruptions: [Interruption]
    private var hash = SHA256()
    private var size: UInt64 = 0
    /// The number of entries.
    private(set) var count = 0

    /// - Throws: Exit code 74 if the file cannot be created.
    init(_ path: String, _ header: ArchiveHeader) throws {
        guard Self.isReplaceable(path) else { throw Self.failure(path, "it is not a regular file") }
        let temporaryPath = "\(path).\(UUID().uuidString.prefix(8))"
        self.path = path
        self.temporaryPath = temporaryPath
        longestLine = header.kind.longestLine
        // Held while the file is created, so that a signal ends the program before, or removes the file after.
        let creation = Guarded(())
        interruptions = Self.interruptions(removing: temporaryPath, after: creation)
        let created = creation.withLock { _ in Self.create(temporaryPath) }
        guard created.descriptor >= 0 else {
            for interruption in interruptions { interruption.end() }
            throw Self.failure(path, String(cString: strerror(created.error)))
        }
        file = FileHandle(fileDescriptor: created.descriptor, closeOnDealloc: true)
        try write(Self.line(header))
    }

    deinit {
        // Renamed by `finish`, it is not there.
        unlink(temporaryPath)
        for interruption in interruptions { interruption.end() }
    }

    /// Whether there is no file, or a regular one.
    private static func isReplaceable(_ path: String) -> Bool {
        let type = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
        return type == nil || type == .typeRegular
    }

    private static func interruptions(removing path: String, after creation: Guarded<Void>) -> [Interruption] {
        [SIGINT, SIGTERM, SIGHUP].map { number in
            Interruption(at: [number]) {
                creation.withLock { _ in
                    unlink(path)
                    Progress.endProgram(by: number)
                }
            }
        }
    }

    /// Creates a file that only the owner can read.
    private static func create(_ path: String) -> (descriptor: Int32, error: Int32) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        return (descriptor, errno)
    }

    // MARK: Entries

    /// Adds an entry that has no body.
    func add(_ entry: some Encodable) throws {
        try write(Self.line(entry))
        count += 1
    }

    /// Adds a response.
    ///
    /// - Returns: Whether its body could be read, and its line is not too long for a reader. Otherwise nothing is added.
    func add(_ response: ArchivedResponse) throws -> Bool {
        let line = Self.line(response.entry)
        guard line.count <= longestLine else { return false }
        let (hash, size) = (hash, size)
        do {
            try writeWhole(line, response.body)
            count += 1
            return true
        } catch is CacheError {
            self.hash = hash
            self.size = size
            try writing { try file.truncate(atOffset: size) }
            return false
        }
    }

    private func writeWhole(_ line: Data, _ body: BodyReader) throws {
        var (body, checksum) = (body, SHA256())
        checksum.update(data: line)
        try write(line)
        while let piece = try body.next() {
            checksum.update(data: piece)
            try write(piece)
        }
        try write(Self.line(ArchiveChecksum(checksum)))
    }

    /// Writes the last line, syncs the file, and renames it to its path. A file that is there is replaced.
    func finish() throws {
        try write(Self.line(ArchiveEnd(entries: count, hash)))
        try writing {
            try file.synchronize()
            guard rename(temporaryPath, path) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        }
    }

    private static func line(_ value: some Encodable) -> Data { Data((Output.text(of: value) + "\n").utf8) }

    private func write(_ bytes: Data) throws {
        try writing { try file.write(contentsOf: bytes) }
        hash.update(data: bytes)
        size += UInt64(bytes.count)
    }

    private func writing(_ body: () throws -> Void) throws {
        do { try body() } catch { throw Self.failure(path, error.localizedDescription) }
    }

    private static func failure(_ path: String, _ reason: String) -> any Error {
        Failure.report(Failure.noOutput, "\(path) cannot be written (\(reason)): name another file")
    }
}
#endif
