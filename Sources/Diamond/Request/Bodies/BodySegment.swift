import Foundation

/// A segment of a body: bytes, or a file as it was when its fingerprint was taken.
enum BodySegment: Hashable, Sendable {
    case bytes(Data)
    case file(FileFingerprint)

    var length: Int64 {
        switch self {
        case .bytes(let data): Int64(data.count)
        case .file(let fingerprint): fingerprint.size
        }
    }

    /// Creates the segment of a file.
    ///
    /// - Throws: ``RequestError/Code-swift.struct/unreadableFile``.
    init(file: URL) throws(RequestError) {
        guard let fingerprint = FileFingerprint(file.path), FileManager.default.isReadableFile(atPath: fingerprint.path)
        else { throw .unreadable(file.path) }
        self = .file(fingerprint)
    }
}

extension RequestError {
    static func unreadable(_ path: String) -> RequestError {
        RequestError(.unreadableFile, "the file '\(path)' cannot be read: check that it is there, and is a file")
    }

    static func changed(_ path: String) -> RequestError {
        RequestError(
            .unreadableFile, "the file '\(path)' changed since it was checked: send a copy that no program writes to")
    }
}

extension RequestBody {
    /// Returns the bytes to send, in segments.
    func segments(_ encoding: ParameterEncoding, boundary: String) throws(RequestError) -> [BodySegment] {
        switch self {
        case .file(let url, _): return [try BodySegment(file: url)]
        case .multipart(let parts): return try Self.segments(of: parts, boundary: boundary)
        default: return [.bytes(try encoded(encoding))]
        }
    }

    private static func segments(of parts: [MultipartPart], boundary: String) throws(RequestError) -> [BodySegment] {
        var segments: [BodySegment] = []
        for part in parts {
            segments.append(.bytes(Data("--\(boundary)\r\n\(try part.head())".utf8)))
            segments.append(try part.segment())
            segments.append(.bytes(Data("\r\n".utf8)))
        }
        return segments + [.bytes(Data("--\(boundary)--\r\n".utf8))]
    }

    /// Returns a boundary with 160 random bits, which no content is likely to contain.
    static func randomBoundary() -> String {
        let letters = Array("abcdefghijklmnopqrstuvwxyz012345")
        return "diamond-" + String((0..<32).map { _ in letters[Int.random(in: 0..<32)] })
    }
}

/// The bytes of segments, in pieces, read on demand.
struct BodyPieces: AsyncSequence, Sendable {
    typealias Element = Data

    let segments: [BodySegment]

    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var rest: ArraySlice<BodySegment>
        private var open: OpenFile?

        /// A file that is being read.
        private struct OpenFile {
            let handle: FileHandle
            let fingerprint: FileFingerprint
            /// The number of bytes that are not read yet.
            var left: Int64

            func checkUnchanged() throws {
                guard FileFingerprint(fingerprint.path, open: handle) == fingerprint else {
                    throw RequestError.changed(fingerprint.path)
                }
            }
        }

        private static let pieceSize: Int64 = 256 << 10

        fileprivate init(_ segments: [BodySegment]) { rest = segments[...] }

        /// - Throws: ``RequestError`` for a file that has changed or become unreadable since its fingerprint was taken.
        mutating func next() async throws -> Data? {
            while true {
                if let piece = try readPiece() { return piece }
                switch rest.popFirst() {
                case nil: return nil
                case .bytes(let data): if !data.isEmpty { return data }
                case .file(let fingerprint): try begin(fingerprint)
                }
            }
        }

        private mutating func begin(_ fingerprint: FileFingerprint) throws {
            guard let handle = FileHandle(forReadingAtPath: fingerprint.path) else {
                throw RequestError.unreadable(fingerprint.path)
            }
            let file = OpenFile(handle: handle, fingerprint: fingerprint, left: fingerprint.size)
            open = file
            try file.checkUnchanged()
        }

        private mutating func readPiece() throws -> Data? {
            guard let file = open else { return nil }
            guard file.left > 0 else {
                open = nil
                try file.handle.close()
                return nil
            }
            guard let piece = try file.handle.read(upToCount: Int(Swift.min(file.left, Self.pieceSize))), !piece.isEmpty
            else { throw RequestError.changed(file.fingerprint.path) }
            // Checked before the last piece is sent: after it the server has a complete body.
            if piece.count == file.left { try file.checkUnchanged() }
            open?.left -= Int64(piece.count)
            return piece
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(segments) }
}
