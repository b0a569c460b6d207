import Crypto
import DiamondSQLite
import Foundation

/// Bodies in pieces as the file keeps them: sealed where it has a seal.
extension CacheFile {
    func row(of entry: CacheEntry, _ chunks: [Data]) throws(CacheError) -> CacheRow {
        let (entry, chunks) = packed(entry, chunks)
        guard let sealing else { return CacheRow(entry, seal: nil, chunks: chunks) }
        return try sealed { try sealing.row(of: entry, chunks) }
    }

    /// Returns a chunk as it is written.
    func stored(_ chunk: Data, of row: PartialRow) throws(CacheError) -> Data {
        let chunk = row.isCompressed ? BodyCompression.pack(chunk) : chunk
        let (key, number) = (row.entry.key, row.digest.count)
        guard let sealing else { return chunk }
        return try sealed { try sealing.sealed(chunk, key, number) }
    }

    /// Returns the response of a row without its body, as it is written, and computes the row's checksum.
    func seal(_ row: inout PartialRow, isPartial: Bool) throws(CacheError) -> StoredResponse {
        var stored = row.entry.stored
        if row.isCompressed { stored.flags.insert(.compressed) }
        if isPartial { stored.flags.insert(.partial) }
        let (key, size, digest) = (row.entry.key, row.bodySize, row.digest.value)
        if let sealing {
            stored.headerBlock = try sealed {
                try sealing.headers(of: stored, key, bodySize: size, digest: digest)
            }
        }
        row.checksum = Checksum.row(
            key: key, request: row.entry.request, stored: stored, bodySize: size, digest: digest)
        return stored
    }

    func tags(of entry: CacheEntry) -> Set<String> {
        guard let sealing else { return entry.names }
        return Set(entry.names.map(sealing.tag))
    }

    /// Whether what was written under this name goes on under the same.
    func seals(with keyID: String?) -> Bool { sealing?.seal.keyID == keyID }

    /// Returns a chunk as it came; `nil` if it is not the one that was written.
    ///
    /// - Throws: `cannotSeal` where the seal cannot open it now: what it says of itself is no damage.
    func chunk(_ number: Int, of outline: BodyOutline) throws(CacheError) -> Data? {
        let bytes = try read { (connection) throws(SQLiteError) in
            try CacheTable.chunk(number, of: outline.id, on: connection)
        }
        guard let bytes, Checksum.digest(of: bytes) == outline.checksums[number] else { return nil }
        guard let opened = try opened(bytes, number, of: outline) else { return nil }
        return outline.isCompressed ? BodyCompression.unpack(opened) : opened
    }

    private func opened(_ bytes: Data, _ number: Int, of outline: BodyOutline) throws(CacheError) -> Data? {
        guard let keyID = outline.seal else { return bytes }
        do {
            return try sealing?.opened(bytes, keyID: keyID, outline.key, number)
        } catch {
            guard case .locked(let lock) = CacheTable.LookupResult(error, keyID) else { return nil }
            throw CacheError(.cannotSeal, lock.reason)
        }
    }
}

extension Sealing {
    func sealed(_ chunk: Data, _ key: RequestKey, _ number: Int) throws -> Data {
        framed(try seal.seal(chunk, context: context(.body, key, number)))
    }

    func opened(_ chunk: Data, keyID: String, _ key: RequestKey, _ number: Int) throws -> Data {
        var rest = chunk[...]
        let frame = try nextFrame(of: &rest, keyID)
        return try seal.open(frame, keyID: keyID, context: context(.body, key, number))
    }
}
