import Foundation

/// A stretch of a body: bytes, or a file as long as it was when it was looked at.
enum BodySegment: Hashable, Sendable {
    case bytes(Data)
    case file(path: String, size: Int64)

    var length: Int64 {
        switch self {
        case .bytes(let data): Int64(data.count)
        case .file(_, let size): size
        }
    }

    /// - Throws: ``RequestError/Code-swift.struct/unreadableFile``.
    init(file: URL) throws(RequestError) {
        let path = file.path
        let attributes = try? FileManager.default.attributesOfItem(atPath: (path as NSString).resolvingSymlinksInPath)
        let isFile = attributes?[.type] as? FileAttributeType == .typeRegular
        guard isFile, let size = attributes?[.size] as? NSNumber, FileManager.default.isReadableFile(atPath: path)
        else {
            throw .unreadable(path)
        }
        self = .file(path: path, size: size.int64Value)
    }
}

extension RequestError {
    static func unreadable(_ path: String) -> RequestError {
        RequestError(.unreadableFile, "the file '\(path)' cannot be read: check that it is there, and is a file")
    }
}

extension RequestBody {
    /// The bytes to send, in stretches.
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
        private var open: (handle: FileHandle, path: String, left: Int64)?

        private static let pieceSize: Int64 = 256 << 10

        fileprivate init(_ segments: [BodySegment]) { rest = segments[...] }

        /// - Throws: ``RequestError`` for a file that has become shorter, or unreadable, since it was measured.
        mutating func next() async throws -> Data? {
            while true {
                if let piece = try readOn() { return piece }
                switch rest.popFirst() {
                case nil: return nil
                case .bytes(let data): if !data.isEmpty { return data }
                case .file(let path, let size): try begin(path, size)
                }
            }
        }

        private mutating func begin(_ path: String, _ size: Int64) throws {
            guard size > 0 else { return }
            guard let handle = FileHandle(forReadingAtPath: path) else { throw RequestError.unreadable(path) }
            open = (handle, path, size)
        }

        private mutating func readOn() throws -> Data? {
            guard let (handle, path, left) = open else { return nil }
            guard left > 0 else {
                open = nil
                try handle.close()
                return nil
            }
            guard let piece = try handle.read(upToCount: Int(Swift.min(left, Self.pieceSize))), !piece.isEmpty else {
                throw RequestError(
                    .unreadableFile, "the file '\(path)' became shorter while it was sent: send it again")
            }
            open?.left -= Int64(piece.count)
            return piece
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(segments) }
}
