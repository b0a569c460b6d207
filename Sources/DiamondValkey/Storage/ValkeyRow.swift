#if Valkey
import Diamond
import Foundation
import NIOCore

/// A record as a field of a hash: a head of fixed width, which scripts read, the stamps of its names, the record's own
/// head, and the chunks of a small body. Larger bodies have a key for each chunk.
struct ValkeyRow {
    /// The most bytes of a body that is part of the field.
    static let largestBody = 64 << 10

    var record: CacheRecord
    /// The stamps of ``names(of:)`` when the record was stored.
    let stamps: [ValkeyStamp]

    /// The names whose stamps a record has, in the order of its head. A record that was read has them in that order.
    static func names(of record: CacheRecord) -> [ValkeyName] { [.all] + record.names.sorted().map(ValkeyName.init) }

    /// Whether the body of a record is part of the field.
    static func hasBody(_ record: CacheRecord) -> Bool { record.bodySize <= largestBody }

    /// The part of the names of a body's keys that differs between bodies: a hash of its checksums.
    static func bodyName(of record: CacheRecord) -> String {
        String(record.bodyHash, radix: 16).padded(to: 16)
    }

    // MARK: Bytes

    private static func number(_ number: Int64, width: Int = 20) -> String {
        String(number).padded(to: width, with: " ")
    }

    /// The version of a record, as scripts compare it.
    static func version(of record: CacheRecord) -> String { number(record.version) }

    /// The value of the field. Scripts know the places of the values in its head: see ``ValkeyScripts``.
    var bytes: ByteBuffer {
        let names = Self.names(of: record)
        let head = record.head
        let chunks = Self.hasBody(record) ? record.chunks : []
        var bytes = ByteBuffer()
        bytes.reserveCapacity(
            110 + names.count * 24 + 4 + head.count + chunks.reduce(0) { $0 + $1.count + 4 })
        let times = [record.storedAt, record.originTime, record.sentAt]
        bytes.writeString(times.map { Self.number($0) }.joined())
        bytes.writeString(Self.version(of: record))
        bytes.writeString(Self.number(Int64(names.count), width: 4))
        bytes.writeString(record.isResponse ? "r" : "v")
        bytes.writeString(Self.number(Self.hasBody(record) ? 0 : Int64(record.chunkCount), width: 8))
        bytes.writeString(Self.bodyName(of: record))
        for (name, stamp) in zip(names, stamps) {
            bytes.writeMultipleIntegers(name.id, stamp.erasure, stamp.invalidation)
        }
        for part in [head] + chunks {
            bytes.writeInteger(UInt32(part.count))
            bytes.writeBytes(part)
        }
        return bytes
    }

    /// Reads a field; `nil` for damaged bytes.
    ///
    /// - Parameter isStale: whether it has the mark of an invalidation of its own.
    init?(_ bytes: ByteBuffer, isStale: Bool) {
        var bytes = bytes
        bytes.moveReaderIndex(to: min(80, bytes.writerIndex))
        guard let countText = bytes.readString(length: 4), let count = Int(countText.drop { $0 == " " }),
            bytes.readSlice(length: 25) != nil, (1...10_000).contains(count)
        else { return nil }
        var ids: [UInt64] = []
        var stamps: [ValkeyStamp] = []
        for _ in 0..<count {
            guard let (id, erasure, invalidation) = bytes.readMultipleIntegers(as: (UInt64, Int64, Int64).self) else {
                return nil
            }
            ids.append(id)
            stamps.append(ValkeyStamp(erasure: erasure, invalidation: invalidation))
        }
        var parts: [Data] = []
        while let size = bytes.readInteger(as: UInt32.self) {
            guard let part = bytes.readBytes(length: Int(size)) else { return nil }
            parts.append(Data(part))
        }
        guard let head = parts.first,
            let record = CacheRecord(head: head, isStale: isStale, chunks: Array(parts.dropFirst())),
            ids == Self.names(of: record).map(\.id)
        else { return nil }
        self.record = record
        self.stamps = stamps
    }

    init(_ record: CacheRecord, stamps: [ValkeyStamp]) {
        self.record = record
        self.stamps = stamps
    }

    /// Returns the record as the server's stamps leave it; `nil` if it was erased.
    ///
    /// - Parameter current: the stamps of ``names(of:)``; `nil` for one that the server does not have.
    func record(given current: [ValkeyStamp?]) -> CacheRecord? {
        var record = record
        for (own, current) in zip(stamps, current) {
            guard let current, current.erasure == own.erasure else { return nil }
            if current.invalidation != own.invalidation { record.isStale = true }
        }
        return record
    }
}
#endif
