import Crypto
import Foundation
import HTTPTypes

/// A download into a file that a later process may continue: a row of the table `download`, and its part file.
package struct KeptDownload: Sendable {
    /// The row; 0 before it is written.
    package var id: Int64 = 0
    package var key: RequestKey
    /// The canonical form.
    var request: [UInt8]
    /// The URL in normal form, with secrets masked.
    package var url: String
    var method: String
    package var identity: String?
    var status: Int
    var headerBlock: Data
    /// The time at which the headers arrived.
    var receivedAt: WallTime
    /// The absolute path of the complete file.
    package var target: String
    /// The name of the part file, in the same directory.
    package var part: String
    /// The number of bytes that are surely on the disk.
    package var size: Int
    /// The SHA-256 digest of these bytes; empty if the part file is sealed.
    var digest = Data()
    /// The name of the key that sealed the row; `nil` in clear.
    var keyID: String?
    /// The id of the contents of a sealed part file (``SealedPart``); empty in clear.
    var contentID = ""
    /// The time of the last write.
    package var writtenAt: WallTime

    /// - Parameter entry: the entry of the response, if the cache stored it.
    init(_ entry: CacheEntry, part: String, for target: String, size: Int, writtenAt: WallTime) {
        key = entry.key
        request = entry.request
        url = entry.url
        method = entry.method
        identity = entry.identity
        status = entry.stored.status
        headerBlock = entry.stored.headerBlock
        receivedAt = entry.stored.storedAt
        self.target = target
        self.part = part
        self.size = size
        self.writtenAt = writtenAt
    }

    var headers: HTTPFields { HeaderBlock.fields(of: headerBlock) }

    /// The path of the part file; `nil` if Diamond writes no such name.
    package var path: String? { PartFile.path(ofKept: part, for: target) }

    /// The length of the complete file in bytes; `nil` if the headers do not tell it.
    package var completeSize: Int? { headers.single(.contentLength).flatMap { Int(digits: $0) } }

    /// Whether it is too old to be continued.
    package func isOutdated(at now: WallTime) -> Bool { writtenAt < now - PartFile.lifetime }

    /// The reason why no download can continue it; `nil` if one can.
    package func fault(at now: WallTime) -> String? {
        guard let path, let length = PartFile.size(of: path) else { return "its part file is missing" }
        guard length >= Int64(size) else { return "its part file is shorter than recorded" }
        return isOutdated(at: now) ? "it is too old to be continued" : nil
    }

    /// The checksum of the row, over all columns that are read back.
    var checksum: Int64 {
        var hash = SHA256()
        key.withUnsafeBytes { hash.update(bufferPointer: $0) }
        let texts = [url, method, identity ?? "", target, part].map { Array($0.utf8) }
        // Version 1 of the schema had no digests.
        let digests = digest.isEmpty ? [] : [Array(digest)]
        // Version 2 had no sealed rows.
        let keyIDs = keyID.map { [Array($0.utf8)] } ?? []
        for bytes in [request, Array(headerBlock)] + texts + digests + keyIDs {
            // The lengths delimit the concatenated values.
            withUnsafeBytes(of: Int64(bytes.count)) { hash.update(bufferPointer: $0) }
            bytes.withUnsafeBytes { hash.update(bufferPointer: $0) }
        }
        let numbers: [Int64] = [
            identity == nil ? 0 : 1, Int64(status), receivedAt.rawValue, Int64(size), writtenAt.rawValue,
        ]
        numbers.withUnsafeBytes { hash.update(bufferPointer: $0) }
        return hash.finalize().withUnsafeBytes { $0.loadUnaligned(as: Int64.self) }
    }
}
