#if Tools
import Crypto
import Diamond
import Foundation

/// Writes an archive into a temporary file next to its path. ``finish()`` gives it its name. Only the owner can read it.
///
/// The temporary file is removed if the writer is released before, and by SIGINT, SIGTERM and SIGHUP.
final class ArchiveWriter {
    private let path: String
    private let temporaryPath: String
    private let file: FileHandle
    private let interruptions: [Interruption]
    private var hash = SHA256()
    private var size: UInt64 = 0
    /// The number of entries.
    private(set) var count = 0

    /// - Throws: Exit code 74 if the file cannot be created.
    init(_ path: String, _ header: ArchiveHeader) throws {
        var name = Array("\(path).XXXXXX".utf8CString)
        // Creates the file with mode 0600.
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else { throw Self.failure(path, String(cString: strerror(errno))) }
        let temporaryPath = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        self.path = path
        self.temporaryPath = temporaryPath
        file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        interruptions = [SIGINT, SIGTERM, SIGHUP].map { number in
            Interruption(at: [number]) {
                unlink(temporaryPath)
                Progress.endProgram(by: number)
            }
        }
        try write(Self.line(header))
    }

    deinit {
        // Renamed by `finish`, it is not there.
        unlink(temporaryPath)
        for interruption in interruptions { interruption.end() }
    }

    /// Adds an entry that has no body.
    func add(_ entry: some Encodable) throws {
        try write(Self.line(entry))
        count += 1
    }

    /// Adds a response.
    ///
    /// - Returns: Whether its body could be read. Otherwise nothing is added.
    func add(_ response: ArchivedResponse) throws -> Bool {
        let (hash, size) = (hash, size)
        do {
            try writeWhole(response)
            count += 1
            return true
        } catch is CacheError {
            self.hash = hash
            self.size = size
            try writing { try file.truncate(atOffset: size) }
            return false
        }
    }

    private func writeWhole(_ response: ArchivedResponse) throws {
        var (body, checksum) = (response.body, SHA256())
        let line = Self.line(response.entry)
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
