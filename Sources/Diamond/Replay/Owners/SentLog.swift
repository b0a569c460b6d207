import Crypto
import DiamondSQLite
import Foundation

/// What has left of jobs that must not be sent twice, in a file of its own, beside the queue's.
///
/// A damaged log of SQLite ends where it is damaged, and the queue is as it was before: a job that was sent is one that was not.
/// Each claim of a job has a higher token, so one that has left with a token as high as a new claim's has left already.
final class SentLog: Sendable {
    /// A claim of a job.
    private struct Record: Hashable {
        var id: Int64
        var token: Int64
        /// Of the request: a queue that has lost jobs gives their ids to others.
        var digest: Int64

        /// With a checksum behind it.
        var bytes: Data {
            var bytes = Data()
            for number in [id, token, digest] {
                withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
            }
            return bytes + SHA256.hash(data: bytes).prefix(8)
        }

        init(_ row: ReplayRow) { (id, token, digest) = (row.id, row.token, row.digest) }

        func isOf(_ other: Self) -> Bool { id == other.id && digest == other.digest }

        /// `nil` where the bytes are not those of a record.
        init?(_ bytes: Data) {
            let numbers = (0..<3).map { index in
                bytes.withUnsafeBytes {
                    Int64(littleEndian: $0.loadUnaligned(fromByteOffset: index * 8, as: Int64.self))
                }
            }
            (id, token, digest) = (numbers[0], numbers[1], numbers[2])
            guard self.bytes == bytes else { return nil }
        }
    }

    private static let size = 32
    /// What is looked through: the newest of them.
    private static let window = 2048 * size
    /// At which the file begins anew.
    private static let limit = 1 << 20

    private let path: String
    /// Those of this process, which may send a job several times with one claim.
    private let own = Guarded<Set<Record>>([])

    init(_ path: String) { self.path = path }

    /// Whether a job has left with its claim, though its row may not say so.
    func hasLeft(_ row: ReplayRow) -> Bool {
        let descriptor = open(path, O_RDWR | PrivateFile.flags)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return contains(Record(row), in: descriptor)
    }

    /// Notes that a job is about to leave.
    ///
    /// - Returns: `false` where it has left before, though its row does not say so.
    func note(_ row: ReplayRow) throws(SQLiteError) -> Bool {
        let record = Record(row)
        guard !own.withLock({ $0.contains(record) }) else { return true }
        let descriptor = try PrivateFile.open(path, O_RDWR | O_APPEND | O_CREAT)
        defer { close(descriptor) }
        guard !contains(record, in: descriptor) else { return false }
        let bytes = record.bytes
        let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard count == bytes.count else { throw SQLiteError(errno: errno, "what was sent cannot be noted", path: path) }
        own.withLock { own in
            if own.count > 10_000 { own = [] }
            own.insert(record)
        }
        return true
    }

    private func contains(_ record: Record, in descriptor: Int32) -> Bool {
        records(in: descriptor).contains { $0.isOf(record) && $0.token >= record.token }
    }

    private func records(in descriptor: Int32) -> [Record] {
        let end = Int(lseek(descriptor, 0, SEEK_END))
        if end > Self.limit, ftruncate(descriptor, 0) == 0 { return [] }
        // From the end back: what is damaged may be of any length.
        let start = max(end % Self.size, end - Self.window)
        var bytes = Data(count: end - start)
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(start)) }
        guard count > 0 else { return [] }
        return stride(from: 0, to: count / Self.size * Self.size, by: Self.size).compactMap { offset in
            Record(bytes.subdata(in: offset..<offset + Self.size))
        }
    }
}
