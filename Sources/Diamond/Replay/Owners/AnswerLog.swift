import Crypto
import DiamondSQLite
import Foundation

/// The answers of jobs whose outcomes cannot be written, for example because the disk is full. They are in a file of a
/// fixed size next to the queue's. Its space is allocated before a job is sent, so that a record needs no free space.
///
/// If the process ends before it has written the outcome, the process that rescues the job uses the recorded answer,
/// and does not send the request again. Jobs that store their answers are not covered, because a record has no body.
final class AnswerLog: Sendable {
    /// The size of a record: five numbers.
    private static let recordSize = 40
    /// The number of records. The id of a job selects its place, so that two jobs rarely have the same.
    private static let count: Int64 = 100

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
        return Reserve.allocate(Int64(Self.recordSize) * Self.count, in: descriptor)
    }

    /// Records the status of the answer to a job, if there is space for it.
    func note(_ status: Int, of row: ReplayRow) {
        guard let descriptor = try? PrivateFile.open(path, access: O_RDWR) else { return }
        defer { close(descriptor) }
        let bytes = Self.bytes(status: status, row)
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
