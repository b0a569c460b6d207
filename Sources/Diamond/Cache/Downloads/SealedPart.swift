import Foundation

/// The contents of a part file in a sealed store: chunks of 128 KiB, the last one may be shorter. Each is sealed by
/// itself, and bound to the file's id and its number.
///
/// A chunk is written when it is full, so that a killed process loses less than 128 KiB. A chunk that is missing, cut
/// off, moved or changed, or from another file, is not accepted: the transfer continues with the chunks before it.
///
/// A chunk begins with two numbers of four bytes, little-endian: the lengths of the key's name and of the sealed bytes,
/// which follow. A file may have chunks of several keys, if the key was changed meanwhile.
struct SealedPart: Sendable {
    /// Reads bytes of the file. Returns fewer at its end.
    typealias Read = (_ offset: Int64, _ count: Int) throws -> Data
    typealias Write = (_ bytes: Data, _ offset: Int64) throws -> Void

    /// A chunk that was read.
    private struct Chunk {
        let bytes: Data
        /// The offset after it.
        let end: Int64
    }

    /// The numbers that a chunk begins with.
    private struct Lengths {
        let name: Int
        let sealed: Int

        /// The bytes of the chunk after its numbers.
        var sum: Int { name + sealed }
    }

    /// The most bytes of a chunk after its numbers.
    private static let largestChunk = 4 * CacheTable.chunkSize

    /// The id of the contents. Another response in the same file has another.
    let id: String
    private let seal: any CacheSeal
    /// The number of full chunks.
    private var count = 0
    /// The offset after the full chunks.
    private var end: Int64 = 0
    /// The bytes of the last chunk, which is not full.
    private var rest = Data()

    init(_ seal: any CacheSeal, id: String = UUID().uuidString) {
        self.seal = seal
        self.id = id
    }

    /// The number of received bytes.
    var size: Int { count * CacheTable.chunkSize + rest.count }

    /// Returns contents without bytes, with another id.
    func emptied() -> SealedPart { SealedPart(seal) }

    /// Appends bytes. A failure changes nothing.
    mutating func append(_ piece: Data, write: Write) throws {
        let before = (count, end)
        // Without full chunks among the new bytes, nothing is written, and nothing fails.
        let old = rest.count + piece.count < CacheTable.chunkSize ? Data() : rest
        do { try add(piece, write: write) } catch {
            count = before.0
            end = before.1
            rest = old
            throw error
        }
    }

    private mutating func add(_ piece: Data, write: Write) throws {
        var piece = piece
        while !piece.isEmpty {
            let part = piece.prefix(CacheTable.chunkSize - rest.count)
            rest.append(part)
            piece = piece.dropFirst(part.count)
            guard rest.count == CacheTable.chunkSize else { continue }
            let chunk = try sealed(rest)
            try write(chunk, end)
            end += Int64(chunk.count)
            count += 1
            rest = Data()
        }
    }

    /// Writes the last chunk, although it is not full. The bytes that follow replace it.
    func flush(write: Write) throws {
        if !rest.isEmpty { try write(try sealed(rest), end) }
    }

    private func sealed(_ bytes: Data) throws -> Data {
        let name = Data(seal.keyID.utf8)
        let sealed = try seal.seal(bytes, context: context(count))
        let lengths = [name.count, sealed.count].map { UInt32($0).littleEndian }
        return lengths.withUnsafeBytes { Data($0) } + name + sealed
    }

    // MARK: Reading

    /// Reads the contents of a file up to the first chunk that is not accepted. The next piece is written after them.
    ///
    /// - Throws: the error of the seal if it cannot open a chunk now, which does not mean that it is damaged.
    mutating func restore(read: Read) throws {
        self = SealedPart(seal, id: id)
        while let chunk = try chunk(count, at: end, read: read) {
            guard chunk.bytes.count == CacheTable.chunkSize else { return rest = chunk.bytes }
            count += 1
            end = chunk.end
        }
    }

    /// Calls a closure with all bytes in order, a chunk at a time.
    ///
    /// - Throws: `POSIXError` with the code `EIO` if a chunk in the file has changed.
    func forEach(read: Read, _ body: (Data) throws -> Void) throws {
        var offset: Int64 = 0
        for number in 0..<count {
            guard let chunk = try chunk(number, at: offset, read: read), chunk.bytes.count == CacheTable.chunkSize
            else {
                throw POSIXError(.EIO)
            }
            try body(chunk.bytes)
            offset = chunk.end
        }
        if !rest.isEmpty { try body(rest) }
    }

    /// Calls a closure with all bytes and their offset in clear, a chunk at a time and the last one first, and then cuts
    /// the chunk off. After a failure, the contents are the chunks before it.
    ///
    /// - Throws: `POSIXError` with the code `EIO` if a chunk in the file has changed.
    mutating func removeAll(
        read: Read, truncate: (_ size: Int64) throws -> Void, _ body: (Data, Int64) throws -> Void
    ) throws {
        var starts: [Int64] = [0]
        for _ in 0..<count {
            guard let lengths = try lengths(at: starts[starts.count - 1], read: read) else { throw POSIXError(.EIO) }
            starts.append(starts[starts.count - 1] + 8 + Int64(lengths.sum))
        }
        if !rest.isEmpty { try body(rest, Int64(count * CacheTable.chunkSize)) }
        rest = Data()
        try truncate(end)
        while count > 0 {
            let start = starts[count - 1]
            guard let chunk = try chunk(count - 1, at: start, read: read), chunk.bytes.count == CacheTable.chunkSize
            else { throw POSIXError(.EIO) }
            try body(chunk.bytes, Int64((count - 1) * CacheTable.chunkSize))
            try truncate(start)
            count -= 1
            end = start
        }
    }

    /// Returns a chunk; `nil` if it is not accepted.
    private func chunk(_ number: Int, at offset: Int64, read: Read) throws -> Chunk? {
        guard let lengths = try lengths(at: offset, read: read) else { return nil }
        let content = try read(offset + 8, lengths.sum)
        guard content.count == lengths.sum else { return nil }
        let keyID = String(decoding: content.prefix(lengths.name), as: UTF8.self)
        do {
            let bytes = try seal.open(
                Data(content.dropFirst(lengths.name)), keyID: keyID, context: context(number))
            guard !bytes.isEmpty, bytes.count <= CacheTable.chunkSize else { return nil }
            return Chunk(bytes: bytes, end: offset + 8 + Int64(lengths.sum))
        } catch let error as CacheSealError where error.code == .notAuthentic {
            return nil
        } catch let error as CacheSealError where error.code == .unknownKey && number > 0 {
            // The name of the key may have changed. The chunks before it are known to be right.
            return nil
        }
    }

    /// Returns the numbers that a chunk begins with; `nil` if there is no chunk.
    private func lengths(at offset: Int64, read: Read) throws -> Lengths? {
        let head = try read(offset, 8)
        guard head.count == 8 else { return nil }
        let numbers = head.withUnsafeBytes { bytes in
            [0, 4].map { Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: $0, as: UInt32.self))) }
        }
        let lengths = Lengths(name: numbers[0], sealed: numbers[1])
        return lengths.sum <= Self.largestChunk ? lengths : nil
    }

    private func context(_ number: Int) -> Data { Data("diamond 1 part \(number)\n\(id)".utf8) }
}
