import Crypto
import DiamondSQLite
import Foundation

/// Writing and reading the chunks of bodies, compressed and sealed if the store does that.
extension CacheCoding {
    /// Returns the record of an entry, compressed and sealed if the store does that.
    func record(of entry: CacheEntry) throws(CacheError) -> CacheRecord {
        guard !isInClear else { return CacheRecord(entry, seal: nil, body: BodyRows(entry.stored.body)) }
        return try record(of: entry, chunks: CacheTable.chunks(of: entry.stored.body))
    }

    func record(of entry: CacheEntry, chunks: [Data]) throws(CacheError) -> CacheRecord {
        let (entry, chunks) = packed(entry, chunks: chunks)
        guard let sealing else { return CacheRecord(entry, seal: nil, chunks: chunks) }
        return try sealed { try sealing.record(of: entry, chunks: chunks) }
    }

    /// Returns a chunk as it is written.
    func stored(_ chunk: Data, of row: PartialRow) throws(CacheError) -> Data {
        let chunk = row.isCompressed ? BodyCompression.pack(chunk) : chunk
        guard let sealing else { return chunk }
        return try sealed { try sealing.sealed(chunk, key: row.entry.key, number: row.checksums.count) }
    }

    /// Returns the response of a row without its body, as it is written, and computes the row's checksum.
    func seal(_ row: inout PartialRow, isPartial: Bool) throws(CacheError) -> StoredResponse {
        var stored = row.entry.stored
        if row.isCompressed { stored.flags.insert(.compressed) }
        if isPartial { stored.flags.insert(.partial) }
        let key = row.entry.key
        let size = row.bodySize
        let digest = row.checksums.column
        if let sealing {
            stored.headerBlock = try sealed {
                try sealing.headers(of: stored, key: key, bodySize: size, digest: digest)
            }
        }
        row.checksum = Checksum.row(
            key: key, request: row.entry.request, stored: stored, bodySize: size, digest: digest)
        return stored
    }

    /// Returns the names of an entry as the table `tag` stores them: digests, if the store is sealed.
    func tags(of entry: CacheEntry) -> Tags {
        guard let sealing else { return entry.names }
        return Tags(entry.names.map(sealing.tag))
    }

    /// Whether the store seals with the key of a name; `nil` stands for no seal.
    func seals(with keyID: String?) -> Bool { sealing?.seal.keyID == keyID }

    /// Returns a chunk, opened and decompressed; `nil` if it is missing or damaged.
    ///
    /// - Throws: `cannotSeal` if the seal cannot open it now, which does not mean that it is damaged.
    func opened(
        _ chunk: CacheTable.StoredChunk, number: Int, of outline: BodyOutline
    ) throws(CacheError) -> Data? {
        guard let bytes = chunk.bytes, BodyChecksums.matches(bytes, checksum: outline.checksums[number]) else {
            return nil
        }
        guard let opened = try opened(bytes, number: number, of: outline) else { return nil }
        return outline.isCompressed ? BodyCompression.unpack(opened) : opened
    }

    private func opened(_ bytes: Data, number: Int, of outline: BodyOutline) throws(CacheError) -> Data? {
        guard let keyID = outline.keyID else { return bytes }
        do {
            return try sealing?.opened(bytes, keyID: keyID, key: outline.key, number: number)
        } catch {
            guard case .locked(let lock) = CacheTable.LookupResult(error, keyID: keyID) else { return nil }
            throw CacheError(.cannotSeal, lock.message)
        }
    }
}

extension Sealing {
    func sealed(_ chunk: Data, key: RequestKey, number: Int) throws -> Data {
        framed(try seal.seal(chunk, context: context(.body, of: key, number: number)))
    }

    func opened(_ chunk: Data, keyID: String, key: RequestKey, number: Int) throws -> Data {
        var rest = chunk[...]
        let frame = try nextFrame(of: &rest, keyID: keyID)
        // Nothing authenticates bytes after the frame, which could give another chunk the checksum of this one.
        guard rest.isEmpty else {
            throw CacheSealError(.notAuthentic, "a value sealed with the key '\(keyID)' is too long: drop it")
        }
        return try seal.open(frame, keyID: keyID, context: context(.body, of: key, number: number))
    }
}
