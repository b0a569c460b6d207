import DiamondSQLite
import Foundation

/// A log of the sent jobs that must not be sent twice, in its own file next to the queue's.
///
/// SQLite reads a damaged write-ahead log only up to the damage. The queue then returns to an earlier state, in which
/// a sent job may count as unsent. Each new claim of a job gets a higher token. So if the log has a record of the job
/// with the token of a new claim, or a higher one, the job was sent before. If a claim has several records, the
/// newest one decides. The log is written only in transactions of the queue, one at a time.
final class SentLog: Sendable {
    private static let window = 2048 * SentRecord.size

    private let path: String
    private let limit: Int
    /// The claims with which this process has sent jobs. It may send a job several times with one claim.
    private let own: Guarded<RecentRecords>

    /// - Parameters:
    ///   - limit: the size in bytes beyond which the file is cut to its newest 2,048 records. Only those are searched.
    ///   - ownLimit: the minimum number of records of this process to remember.
    init(_ path: String, limit: Int = 1 << 20, ownLimit: Int = 10_000) {
        self.path = path
        self.limit = limit
        own = Guarded(RecentRecords(limit: ownLimit))
    }

    /// Whether a job was sent with its claim or a later one, even if its row does not say so.
    func wasSent(_ row: ReplayRow) -> Bool {
        let descriptor = open(path, O_RDONLY | PrivateFile.flags)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return Self.newest(in: descriptor).wasSent(SentRecord(row))
    }

    /// Notes that a job is about to be sent.
    ///
    /// - Returns: `false` if the job was sent before, though its row does not say so.
    func note(_ row: ReplayRow) throws(SQLiteError) -> Bool {
        let record = SentRecord(row)
        guard !own.withLock({ $0.contains(record) }) else { return true }
        let descriptor = try openForWriting()
        defer { close(descriptor) }
        let newest = Self.newest(in: descriptor)
        guard !newest.wasSent(record) else { return false }
        if lseek(descriptor, 0, SEEK_END) > limit {
            try replace(with: newest + record.bytes)
        } else {
            try append(record, to: descriptor)
        }
        own.withLock { $0.insert(record) }
        return true
    }

    /// Notes that the exchanges sent with a job's claim were certainly not processed.
    func revoke(_ row: ReplayRow) throws(SQLiteError) {
        var record = SentRecord(row)
        let descriptor = try openForWriting()
        defer { close(descriptor) }
        record.isRevoked = true
        try append(record, to: descriptor)
        record.isRevoked = false
        own.withLock { $0.remove(record) }
    }

    // MARK: The file

    private func openForWriting() throws(SQLiteError) -> Int32 {
        try PrivateFile.open(path, access: O_RDWR | O_APPEND | O_CREAT)
    }

    /// Returns the bytes of the newest records.
    private static func newest(in descriptor: Int32) -> Data {
        let end = Int(lseek(descriptor, 0, SEEK_END))
        // Aligned to the end of the file, because a damaged part may have any length.
        let start = max(end % SentRecord.size, end - window)
        var bytes = Data(count: max(0, end - start))
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(start)) }
        return bytes.prefix(max(0, count) / SentRecord.size * SentRecord.size)
    }

    private func append(_ record: SentRecord, to descriptor: Int32) throws(SQLiteError) {
        let end = lseek(descriptor, 0, SEEK_END)
        do throws(SQLiteError) { try write(record.bytes, to: descriptor) } catch {
            // After half a record, all later ones would be misaligned.
            _ = ftruncate(descriptor, end)
            throw error
        }
    }

    /// Replaces the file atomically. If the process dies, either the old or the new file remains.
    private func replace(with bytes: Data) throws(SQLiteError) {
        let newPath = path + ".new"
        let descriptor = try PrivateFile.open(newPath, access: O_WRONLY | O_CREAT | O_TRUNC)
        defer { close(descriptor) }
        try write(bytes, to: descriptor)
        guard rename(newPath, path) == 0 else {
            throw SQLiteError(errno: errno, "cannot be replaced", path: path)
        }
    }

    private func write(_ bytes: Data, to descriptor: Int32) throws(SQLiteError) {
        let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
        guard count != bytes.count else { return }
        throw SQLiteError(errno: count < 0 ? errno : ENOSPC, "the log of sent jobs cannot be written", path: path)
    }
}

/// The last records, in two generations. When the newer generation is full, the older one is dropped.
private struct RecentRecords {
    let limit: Int
    private var newer: Set<SentRecord> = []
    private var older: Set<SentRecord> = []

    init(limit: Int) { self.limit = limit }

    func contains(_ record: SentRecord) -> Bool { newer.contains(record) || older.contains(record) }

    mutating func insert(_ record: SentRecord) {
        if newer.count >= limit {
            older = newer
            newer = []
        }
        newer.insert(record)
    }

    mutating func remove(_ record: SentRecord) {
        newer.remove(record)
        older.remove(record)
    }
}

extension Data {
    /// Whether these records say that a job was sent with a claim or a later one.
    fileprivate func wasSent(_ record: SentRecord) -> Bool {
        var tokens: Set<Int64> = []
        withUnsafeBytes { bytes in
            for offset in stride(from: 0, to: bytes.count, by: SentRecord.size) {
                let slice = UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + SentRecord.size])
                guard let other = SentRecord(slice, of: record), other.token >= record.token else { continue }
                if other.isRevoked { tokens.remove(other.token) } else { tokens.insert(other.token) }
            }
        }
        return !tokens.isEmpty
    }
}
