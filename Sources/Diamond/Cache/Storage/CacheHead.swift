import Foundation

/// The bytes of a record's head: a version and other numbers, then each value after its length, and XXH3 of all these
/// bytes. Numbers are little-endian.
struct CacheHead {
    private static let version: Int64 = 1

    let entry: CacheEntry
    let seal: String?
    let names: [String]
    let bodySize: Int64
    /// ``BodyChecksums/column``.
    let digest: Data
    let checksum: Int64

    static func data(of record: CacheRecord) -> Data {
        let entry = record.entry
        let stored = entry.stored
        var data = Data()
        let numbers: [Int64] = [
            version, Int64(stored.status), stored.storedAt.rawValue, stored.initialAge, stored.lifetime ?? -1,
            stored.flags.subtracting(CacheRecord.marks).rawValue, stored.duration, record.body.size, record.checksum,
        ]
        for number in numbers { data.append(number) }
        data.append(sized: entry.key.bytes)
        data.append(sized: entry.requestKey?.bytes ?? Data())
        data.append(sized: Data(entry.request))
        data.append(sized: stored.headerBlock)
        data.append(sized: record.body.checksums.column)
        let texts = [
            entry.url, entry.method, record.seal.map { "+" + $0 } ?? "", entry.identity.map { "+" + $0 } ?? "",
        ]
        for text in texts + record.names.sorted() { data.append(sized: Data(text.utf8)) }
        return data + data.withUnsafeBytes { BodyChecksums.checksum(of: $0) }
    }

    /// Reads a head; `nil` for bytes that Diamond never writes.
    init?(_ head: Data) {
        var rest = head.dropLast(8)
        guard rest.withUnsafeBytes({ BodyChecksums.checksum(of: $0) }) == head.suffix(8) else { return nil }
        let numbers = (0..<9).compactMap { _ in rest.nextNumber() }
        let blobs = (0..<5).compactMap { _ in rest.nextSized() }
        guard numbers.count == 9, numbers[0] == Self.version, blobs.count == 5, let key = RequestKey(stored: blobs[0])
        else { return nil }
        let times = [numbers[2], numbers[3], max(0, numbers[4]), numbers[6]]
        guard (100...999).contains(numbers[1]), times.allSatisfy(CacheTable.times.contains),
            (0...Int64(CacheTable.largestBody)).contains(numbers[7])
        else { return nil }
        var texts: [String] = []
        while !rest.isEmpty {
            guard let text = rest.nextSized() else { return nil }
            texts.append(String(decoding: text, as: UTF8.self))
        }
        guard texts.count >= 4 else { return nil }
        let stored = StoredResponse(
            status: Int(numbers[1]), headerBlock: blobs[3], body: Data(), storedAt: WallTime(rawValue: numbers[2]),
            initialAge: numbers[3], lifetime: numbers[4] < 0 ? nil : numbers[4],
            flags: .init(rawValue: numbers[5]).subtracting(CacheRecord.marks), duration: numbers[6])
        var entry = CacheEntry(
            key: key, request: Array(blobs[2]), url: texts[0], method: texts[1],
            identity: texts[3].isEmpty ? nil : String(texts[3].dropFirst()), stored: stored)
        entry.requestKey = RequestKey(stored: blobs[1])
        self.entry = entry
        seal = texts[2].isEmpty ? nil : String(texts[2].dropFirst())
        names = Array(texts[4...])
        bodySize = numbers[7]
        digest = blobs[4]
        checksum = numbers[8]
    }
}

extension CacheRecord {
    /// The flags that a storage keeps beside the head.
    static let marks: StoredResponse.Flags = [.invalidated, .pinned]
}

extension Data {
    fileprivate mutating func append(_ number: Int64) {
        Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
    }

    fileprivate mutating func append(sized bytes: Data) {
        append(Int64(bytes.count))
        append(bytes)
    }
}

extension Data.SubSequence {
    fileprivate mutating func nextNumber() -> Int64? {
        guard count >= 8 else { return nil }
        defer { self = dropFirst(8) }
        return prefix(8).withUnsafeBytes { Int64(littleEndian: $0.loadUnaligned(as: Int64.self)) }
    }

    fileprivate mutating func nextSized() -> Data? {
        guard let size = nextNumber(), size >= 0, size <= count else { return nil }
        defer { self = dropFirst(Int(size)) }
        return Data(prefix(Int(size)))
    }
}
