import Crypto
import DiamondSQLite
import Foundation

/// The answers of jobs whose outcomes cannot be written, for example because the disk is full. They are in a file of a
/// fixed size next to the queue's. Its space is allocated before a job is sent, so that a record needs no free space.
///
/// If the process ends before it has written the outcome, the process that rescues the job uses the recorded answer,
/// and does not send the request again. For a job that stores its answer, the log has the headers and the body, too, if
/// they are not longer than 23 KiB. Otherwise such a job is sent again.
final class AnswerLog: Sendable {
    /// The size of a record: five numbers.
    private static let recordSize = 40
    /// The number of records. The id of a job selects its place, so that two jobs rarely have the same.
    private static let count: Int64 = 100
    /// The size of the place of an answer's content, and the number of these places, which follow the records.
    private static let contentSize = 32 << 10
    private static let contentCount: Int64 = 16
    private static let contentStart = Int64(recordSize) * count
    /// The bytes before the content itself: its record, its length and a checksum.
    private static let contentHead = recordSize + 16

    private let path: String
    private let isReserved = Guarded(false)

    init(_ path: String) { self.path = path }

    /// Allocates the space of the file, unless this process has done so. If the disk has too little space, the file is
    /// too short, and a later call tries again. Until then a record is written only if there is space for it.
    func reserve() {
        isReserved.withLock { isReserved in
            if !isReserved { isReserved = allocate() }
        }
    }

    private func allocate() -> Bool {
        guard let descriptor = try? PrivateFile.open(path, access: O_RDWR | O_CREAT) else { return false }
        defer { close(descriptor) }
        return Reserve.allocate(Self.contentStart + Self.contentCount * Int64(Self.contentSize), in: descriptor)
    }

    /// Records the status of the answer to a job, if there is space for it.
    ///
    /// - Parameter content: the headers and the body, as ``content(of:status:)`` returns them; `nil` for none.
    func note(_ status: Int, content: Data? = nil, of row: ReplayRow) {
        guard let descriptor = try? PrivateFile.open(path, access: O_RDWR) else { return }
        defer { close(descriptor) }
        let bytes = Self.bytes(status: status, row)
        if let content, content.count <= Self.contentSize - Self.contentHead {
            let place = bytes + Self.head(of: content, bytes) + content
            _ = place.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, Self.contentOffset(of: row.id)) }
        }
        _ = bytes.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, Self.offset(of: row)) }
    }

    /// Returns the recorded status of the answer to a job, sent with its newest claim; `nil` for none.
    func status(of row: ReplayRow) -> Int? {
        guard let descriptor = try? PrivateFile.open(path, access: O_RDONLY) else { return nil }
        defer { close(descriptor) }
        var bytes = Data(count: Self.recordSize)
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, Self.offset(of: row)) }
        guard count == Self.recordSize else { return nil }
        let status = bytes.withUnsafeBytes { Int64(littleEndian: $0.loadUnaligned(fromByteOffset: 24, as: Int64.self)) }
        guard (100...999).contains(status), bytes == Self.bytes(status: Int(status), row) else { return nil }
        return Int(status)
    }

    /// Returns the recorded content of the answer to a job; `nil` for none.
    func content(of row: ReplayRow, status: Int) -> Data? {
        guard let descriptor = try? PrivateFile.open(path, access: O_RDONLY) else { return nil }
        defer { close(descriptor) }
        var place = Data(count: Self.contentSize)
        let size = place.withUnsafeMutableBytes {
            pread(descriptor, $0.baseAddress, $0.count, Self.contentOffset(of: row.id))
        }
        let record = Self.bytes(status: status, row)
        guard size == Self.contentSize, place.prefix(Self.recordSize) == record else { return nil }
        let count = place.withUnsafeBytes {
            Int64(littleEndian: $0.loadUnaligned(fromByteOffset: Self.recordSize, as: Int64.self))
        }
        guard (0...Int64(Self.contentSize - Self.contentHead)).contains(count) else { return nil }
        let content = Data(place.dropFirst(Self.contentHead).prefix(Int(count)))
        let head = place.dropFirst(Self.recordSize).prefix(Self.contentHead - Self.recordSize)
        return head == Self.head(of: content, record) ? content : nil
    }

    /// Overwrites the contents of the answers to some jobs.
    ///
    /// - Parameter isUnneeded: called with the id of the job.
    func eraseContents(where isUnneeded: (Int64) -> Bool) {
        guard let descriptor = try? PrivateFile.open(path, access: O_RDWR) else { return }
        defer { close(descriptor) }
        for place in 0..<Self.contentCount {
            var id: Int64 = 0
            let offset = Self.contentOffset(of: place)
            guard pread(descriptor, &id, 8, offset) == 8, id != 0, isUnneeded(Int64(littleEndian: id)) else { continue }
            let zeros = Data(count: Self.contentSize)
            _ = zeros.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, offset) }
        }
    }

    /// Returns the length of a content, and a checksum that includes its record.
    private static func head(of content: Data, _ record: Data) -> Data {
        let count = withUnsafeBytes(of: Int64(content.count).littleEndian) { Data($0) }
        return count + SHA256.hash(data: record + count + content).prefix(8)
    }

    private static func contentOffset(of id: Int64) -> off_t {
        off_t(contentStart + (id % contentCount + contentCount) % contentCount * Int64(contentSize))
    }

    private static func offset(of row: ReplayRow) -> off_t {
        off_t((row.id % count + count) % count * Int64(recordSize))
    }

    /// Returns the written form of a record: the job, its claim, the digest of its request, the status, and a checksum.
    private static func bytes(status: Int, _ row: ReplayRow) -> Data {
        var bytes = Data()
        for number in [row.id, row.token, row.digest, Int64(status)] {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }
        return bytes + SHA256.hash(data: bytes).prefix(8)
    }
}

extension ReplayOutcome {
    /// The status of an answer that ends a job, or holds it; `nil` for another outcome.
    var finalStatus: Int? {
        guard case .answered(let status, isTransient: false, _, isBehindRedirect: false, _) = self else { return nil }
        return status
    }
}
