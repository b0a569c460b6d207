import Foundation

/// The length and the SHA-256 digest of the first bytes of a part file in clear.
///
/// A kept file ends with two of them, after its contents: one of all bytes, and one of the bytes without the last
/// piece. They are written before that piece, so that one of them is right whenever the process is killed. The row of
/// the file has a third one, of bytes that were synced to the disk.
struct ReceivedBytes: Hashable, Sendable {
    /// The bytes of two of them in the file.
    static let pairSize = 80

    /// The most bytes by which the two in a file differ.
    static let largestStep = 256 << 10

    var size: Int
    var digest: Data

    /// Returns the form in the file.
    static func pair(_ last: ReceivedBytes, _ previous: ReceivedBytes) -> Data { last.bytes + previous.bytes }

    /// Returns the two at the end of a file, the shorter first; none if the file does not end with them.
    ///
    /// - Parameters:
    ///   - bytes: the last bytes of the file.
    ///   - size: the number of bytes before them.
    static func pair(from bytes: Data, after size: Int) -> [ReceivedBytes] {
        guard bytes.count == pairSize, let last = ReceivedBytes(bytes.prefix(40)), last.size == size,
            let previous = ReceivedBytes(bytes.dropFirst(40)), previous.size < size
        else { return [] }
        return [previous, last]
    }

    init(size: Int, digest: Data) {
        self.size = size
        self.digest = digest
    }

    private init?(_ bytes: Data) {
        let number = bytes.prefix(8).withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
        guard let size = Int(exactly: Int64(littleEndian: number)), size >= 0 else { return nil }
        self.init(size: size, digest: Data(bytes.dropFirst(8)))
    }

    private var bytes: Data { withUnsafeBytes(of: Int64(size).littleEndian) { Data($0) } + digest }
}
