import Foundation

/// A stretch of a body: bytes, or a file as it was when it was looked at.
enum BodySegment: Hashable, Sendable {
    case bytes(Data)
    case file(FileFingerprint)

    var length: Int64 {
        switch self {
        case .bytes(let data): Int64(data.count)
        case .file(let look): look.size
        }
    }

    /// Creates the segment of a file.
    ///
    /// - Throws: ``RequestError/Code-swift.struct/unreadableFile``.
    init(file: URL) throws(RequestError) {
        guard let look = FileFingerprint(file.path), FileManager.default.isReadableFile(atPath: look.path)
        else { throw .unreadable(file.path) }
        self = .file(look)
    }
}

extension RequestError {
    static func unreadable(_ path: String) -> RequestError {
        RequestError(.unreadableFile, "the file '\(path)' cannot be read: check that it is there, and is a file")
    }

    static func changed(_ path: String) -> RequestError {
        RequestError(
            .unreadableFile, "the file '\(path)' changed since it was looked at: send a copy that nobody writes to")
    }
}

extension RequestBody {
    /// Returns the bytes to send, in segments.
    func segments(_ encoding: ParameterEncoding, boundary: String) throws(RequestError) -> [BodySegment] {
        switch self {
        case .file(let url, _): return [try BodySegment(file: url)]
        case .multipart(let parts): return try Self.segments(parts, boundary)
        default: return [.bytes(try encoded(encoding))]
        }
    }

    private static func segments(_ parts: [MultipartPart], _ boundary: String) throws(RequestError) -> [BodySegment] {
        var segments: [BodySegment] = []
        for part in parts {
            segments.append(.bytes(Data("--\(boundary)\r\n\(try part.head())".utf8)))
            segments.append(try part.segment())
            segments.append(.bytes(Data("\r\n".utf8)))
        }
        return segments + [.bytes(Data("--\(boundary)--\r\n".utf8))]
    }

    /// 32 characters that no content is likely to hold: 160 bits.
    static func randomBoundary() -> String {
        let letters = Array("abcdefghijklmnopqrstuvwxyz012345")
        return "diamond-" + String((0..<32).map { _ in letters[Int.random(in: 0..<32)] })
    }
}

/// The bytes of segments, in pieces, read as they are asked for.
struct BodyPieces: AsyncSequence, Sendable {
    typealias Element = Data

    let segments: [BodySegment]

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var rest: ArraySlice<BodySegment>
        private var open: (handle: FileHandle, look: FileFingerprint, left: Int64)?

        private static let pieceSize: Int64 = 256 << 10

        fileprivate init(_ segments: [BodySegment]) { rest = segments[...] }

        /// - Throws: ``RequestError`` for a file that has changed, or become unreadable, since it was looked at.
        mutating func next() async throws -> Data? {
            while true {
                if let piece = try readOn() { return piece }
                switch rest.popFirst() {
                case nil: return nil
                case .bytes(let data): if !data.isEmpty { return data }
                case .file(let look): try begin(look)
                }
            }
        }

        private mutating func begin(_ look: FileFingerprint) throws {
            guard let handle = FileHandle(forReadingAtPath: look.path) else { throw RequestError.unreadable(look.path) }
            open = (handle, look, look.size)
            try check(handle, look)
        }

        private func check(_ handle: FileHandle, _ look: FileFingerprint) throws {
            guard FileFingerprint(look.path, open: handle) == look else { throw RequestError.changed(look.path) }
        }

        private mutating func readOn() throws -> Data? {
            guard let (handle, look, left) = open else { return nil }
            guard left > 0 else {
                open = nil
                try handle.close()
                return nil
            }
            guard let piece = try handle.read(upToCount: Int(Swift.min(left, Self.pieceSize))), !piece.isEmpty
            else { throw RequestError.changed(look.path) }
            // Before the last piece goes out: with it the server has what looks whole.
            if piece.count == left { try check(handle, look) }
            open?.left -= Int64(piece.count)
            return piece
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(segments) }
}
