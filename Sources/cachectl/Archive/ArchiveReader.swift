#if Tools
import Crypto
import Diamond
import Foundation

/// Reads an archive from a file or a pipe, and verifies it. It has at most a piece of a body, and a line
/// (``ArchiveHeader/Kind/longestLine``), in memory.
final class ArchiveReader {
    private static let pieceSize = 128 << 10

    /// The name of the file for messages.
    let name: String
    private let file: FileHandle
    private var buffer = Data()
    private var hash = SHA256()
    /// The position of the next byte.
    private var offset = 0
    private var count = 0
    private var longestLine = ArchiveHeader.Kind.cache.longestLine

    /// - Parameter path: A path, or `-` for standard input.
    /// - Throws: Exit code 64 if the file cannot be opened.
    init(_ path: String, expecting form: String) throws {
        name = path == "-" ? "standard input" : path
        guard let file = path == "-" ? .standardInput : FileHandle(forReadingAtPath: path) else {
            throw Failure.report(Failure.usage, "\(name) cannot be read: give \(form)")
        }
        self.file = file
    }

    /// Returns the first line of an archive; `nil` if the file is none. Then ``rest()`` returns all of it.
    func header(of kind: ArchiveHeader.Kind) throws -> ArchiveHeader? {
        while buffer.count < ArchiveHeader.beginning.count, try fill() {}
        guard buffer.starts(with: ArchiveHeader.beginning) else { return nil }
        let line = try line()
        guard let version = try? JSONDecoder().decode(ArchiveVersion.self, from: line).version else {
            throw damage("the first line is altered", at: 0)
        }
        guard version <= ArchiveHeader.version else {
            throw ArchiveProblem(message: "it has the newer version \(version): update this program", isMisplaced: true)
        }
        guard let header = try? JSONDecoder().decode(ArchiveHeader.self, from: line) else {
            throw damage("the first line is altered", at: 0)
        }
        guard header.kind == kind else {
            throw ArchiveProblem(message: "it is for '\(header.kind.command)'", isMisplaced: true)
        }
        longestLine = kind.longestLine
        return header
    }

    /// Returns all bytes that are left of a file that is no archive.
    func rest() throws -> Data { try reading { buffer + (try file.readToEnd() ?? Data()) } }

    /// Returns the line of the next entry, with its line feed; `nil` at the end, when all checksums match.
    func next() throws -> Data? {
        let (hash, start) = (hash, offset)
        let line = try line()
        guard line.starts(with: ArchiveEnd.beginning) else {
            count += 1
            return line
        }
        guard decoded(line) == ArchiveEnd(entries: count, hash) else {
            throw damage("the checksum of the whole is wrong", at: start)
        }
        guard buffer.isEmpty, try !fill() else { throw damage("bytes follow the end", at: offset) }
        return nil
    }

    /// Passes on the body of an entry in pieces, and verifies its checksum.
    ///
    /// - Parameter line: The line of the entry.
    func readBody(_ size: Int, of line: Data, _ use: (Data) async throws -> Void) async throws {
        let start = offset - line.count
        var (left, checksum) = (size, SHA256())
        checksum.update(data: line)
        while left > 0 {
            if buffer.isEmpty { try fillOrThrow() }
            let piece = take(min(left, buffer.count))
            checksum.update(data: piece)
            left -= piece.count
            try await use(piece)
        }
        guard decoded(try self.line()) == ArchiveChecksum(checksum) else {
            throw damage("the checksum of the entry there is wrong", at: start)
        }
    }

    /// Returns the problem of a line that is no entry.
    func invalid(_ line: Data) -> ArchiveProblem { damage("the line there is no entry", at: offset - line.count) }

    // MARK: Bytes

    private func decoded<Value: Decodable>(_ line: Data) -> Value? {
        try? JSONDecoder().decode(Value.self, from: line)
    }

    private func line() throws -> Data {
        let start = offset
        var line = Data()
        while true {
            let end = buffer.firstIndex(of: 0x0A)
            line.append(take(end.map { $0 - buffer.startIndex + 1 } ?? buffer.count))
            guard line.count <= longestLine else { throw damage("a line is too long", at: start) }
            if end != nil { return line }
            try fillOrThrow()
        }
    }

    private func take(_ count: Int) -> Data {
        let bytes = buffer.prefix(count)
        buffer = buffer.dropFirst(count)
        hash.update(data: bytes)
        offset += count
        return Data(bytes)
    }

    private func fillOrThrow() throws {
        guard try fill() else { throw damage("it is truncated", at: offset + buffer.count) }
    }

    /// - Returns: Whether there were more bytes.
    private func fill() throws -> Bool {
        let piece = try reading { try file.read(upToCount: Self.pieceSize) ?? Data() }
        // A copy: a slice would keep the bytes that were taken.
        var rest = Data(capacity: buffer.count + piece.count)
        rest.append(buffer)
        rest.append(piece)
        buffer = rest
        return !piece.isEmpty
    }

    private func reading(_ body: () throws -> Data) throws -> Data {
        do { return try body() } catch {
            throw ArchiveProblem(message: "it cannot be read: give another file", isMisplaced: true)
        }
    }

    private func damage(_ what: String, at offset: Int) -> ArchiveProblem {
        ArchiveProblem(message: "byte \(offset): \(what): export it again")
    }
}

extension ArchiveReader {
    /// Runs a body that reads the archive. Prints its problem, and throws the exit code: 1 if the archive is damaged.
    ///
    /// - Parameter outcome: Returns what was done before.
    func reporting<Result>(_ body: () async throws -> Result, outcome: () -> String) async throws -> Result {
        do {
            return try await body()
        } catch let problem as ArchiveProblem {
            let code = problem.isMisplaced ? Failure.usage : Failure.damaged
            throw Failure.report(code, "\(name): \(problem.message); \(outcome())")
        }
    }
}
#endif
