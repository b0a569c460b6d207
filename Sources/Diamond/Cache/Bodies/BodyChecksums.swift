import Crypto
import DiamondSQLite
import Foundation

/// The checksums of a body's chunks as they are written: after compression and sealing. They are the column
/// `body_digest`: the byte 4, then XXH3 of each chunk in 8 bytes, little-endian. A range verifies only the chunks that
/// it reads.
///
/// An entry of a program before version 4 of the schema has SHA-256 there instead, in 32 bytes. It gets checksums when
/// it is next used, unless it is sealed: its seal covers the column.
struct BodyChecksums: Sendable {
    private static let form: UInt8 = 4
    private static let size = 8

    /// The value of the column.
    private(set) var column = Data(repeating: form, count: 1)

    init(_ checksums: some Sequence<Data> = []) { for checksum in checksums { column.append(checksum) } }

    /// - Parameter column: a value of the column that was read.
    init(column: Data) { self.column = column }

    /// The number of chunks.
    var count: Int { column.count / Self.size }

    /// Adds the checksum of the next chunk.
    mutating func add(_ chunk: Data) { chunk.withUnsafeBytes { add($0) } }

    mutating func add(_ chunk: UnsafeRawBufferPointer) { column.append(Self.checksum(of: chunk)) }

    static func checksum(of chunk: UnsafeRawBufferPointer) -> Data {
        withUnsafeBytes(of: XXH3.hash(chunk).littleEndian) { Data($0) }
    }

    /// Whether a value of the column is SHA-256, of a program before version 4 of the schema.
    static func isOld(_ column: Data) -> Bool { column.count == Checksum.Digest.byteCount }

    /// Returns the checksums in a value of the column; `nil` if it is no such value.
    static func each(in column: Data) -> [Data]? {
        guard column.first == form, column.count % size == 1 else { return nil }
        return stride(from: column.startIndex + 1, to: column.endIndex, by: size).map { Data(column[$0..<$0 + size]) }
    }

    /// Whether bytes have a checksum, of 8 bytes or, for an old chunk, of 32.
    static func matches(_ chunk: Data, checksum: Data) -> Bool {
        chunk.withUnsafeBytes { matches($0, checksum: checksum) }
    }

    static func matches(_ chunk: UnsafeRawBufferPointer, checksum: Data) -> Bool {
        isOld(checksum) ? Checksum.digest(of: chunk) == checksum : Self.checksum(of: chunk) == checksum
    }
}

/// The verification of all chunks of a body, while they are read.
struct BodyVerification {
    /// The checksums of the chunks, also of an old body.
    private(set) var checksums = BodyChecksums()
    /// The bytes of the chunks.
    private(set) var size = 0
    /// Whether the chunks are the whole body, and sound.
    private(set) var isSound = true

    /// Reads the rows of a lookup up to the size of the body.
    ///
    /// - Parameter use: receives the bytes of each chunk.
    init(
        _ rows: borrowing SQLiteStatement, size: Int, _ use: (UnsafeRawBufferPointer) -> Void
    ) throws(SQLiteError) {
        let column = rows.data(CacheTable.Column.bodyDigest)
        let isOld = BodyChecksums.isOld(column)
        var digests: [Data] = []
        var isChunk = !rows.isNull(CacheTable.Column.bytes)
        while isChunk {
            rows.withBytes(CacheTable.Column.bytes) { bytes in
                checksums.add(bytes)
                if isOld { digests.append(Data(Checksum.digest(of: bytes))) }
                use(bytes)
                self.size += bytes.count
            }
            // The only chunk of an old body may have no digest of its own.
            if isOld, !rows.isNull(CacheTable.Column.chunkChecksum),
                digests.last != rows.data(CacheTable.Column.chunkChecksum)
            {
                isSound = false
            }
            isChunk = self.size < size ? try rows.step() : false
        }
        isSound = isSound && column == (isOld ? Checksum.digest(ofChunks: digests) : checksums.column)
    }
}
