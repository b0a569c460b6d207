import Foundation
import HTTPTypes

/// Verifying, opening and confirming records, as ``CacheTable`` does with rows.
extension CacheCoding {
    /// Returns the step that writes a change.
    func step(of change: CacheChange) throws(CacheError) -> CacheStep {
        switch change.action {
        case .store(let entry): .store(try record(of: entry))
        case .confirm(let entry, let old): .confirm(CacheConfirmation(entry: entry, old: old, coding: self))
        case .delete(let everywhere): .erase(change.key, everywhere: everywhere)
        }
    }

    /// Returns the response of a record, verified, opened and decompressed.
    ///
    /// - Parameter request: the requested canonical form; `nil` for any.
    func opened(_ record: CacheRecord, for request: [UInt8]?) -> CacheTable.LookupResult {
        let entry = record.entry
        guard
            entry.checksum(bodySize: record.body.size, digest: record.bodyID) == record.checksum,
            let checksums = BodyChecksums.each(in: record.bodyID), !entry.stored.flags.contains(.partial)
        else { return .damaged(reason: "its record's checksum is wrong") }
        let chunks = record.chunks
        guard chunks.count == checksums.count, chunks.reduce(0, { $0 + $1.count }) == record.bodySize else {
            return .damaged(reason: "its body is incomplete")
        }
        guard zip(chunks, checksums).allSatisfy({ BodyChecksums.matches($0, checksum: $1) }) else {
            return .damaged(reason: "its body's checksum is wrong")
        }
        var stored = entry.stored
        stored.body = chunks.count == 1 ? chunks[0] : Data(chunks.joined())
        switch (record.seal, sealing) {
        case (nil, nil):
            return request.map { $0 == entry.request } ?? true
                ? CacheTable.LookupResult.entry(stored, isVisited: true).unpacked : .nothing
        case (nil, _?): return .locked(.inClear)
        case (let keyID?, nil): return .locked(.sealed(keyID: keyID))
        case (let keyID?, let sealing?):
            let row = sealing.row(of: record, keyID: keyID)
            do {
                let opened = try sealing.open(stored, row: row, key: entry.key, for: request)
                return opened.map { .entry($0, isVisited: true).unpacked } ?? .nothing
            } catch {
                return .init(error, keyID: keyID)
            }
        }
    }

    /// Returns a record without its chunks after a server has confirmed its response; `nil` if it is not the response
    /// that was confirmed. A record that was sealed with an older key is not: it stays stale until it is stored again.
    func record(of entry: CacheEntry, confirming old: StoredResponse, in record: CacheRecord) -> CacheRecord? {
        let stored = record.entry.stored
        guard stored.storedAt == old.storedAt, stored.flags.intersection(.invalidated).isSubset(of: old.flags),
            record.seal == sealing?.seal.keyID, headers(of: record) == old.headerBlock,
            record.seal != nil || stored.flags.contains(.compressed) || record.bodySize == old.bodySize
        else { return nil }
        var confirmed = record.entry
        confirmed.stored = entry.stored
        confirmed.stored.body = Data()
        confirmed.stored.flags.formUnion(stored.flags.intersection([.compressed, .pinned]))
        confirmed.tags = tags(of: entry)
        if let sealing {
            guard
                let headers = try? sealing.headers(
                    of: confirmed.stored, key: entry.key, bodySize: record.body.size, digest: record.bodyID)
            else { return nil }
            confirmed.stored.headerBlock = headers
        }
        return record.with(confirmed)
    }

    private func headers(of record: CacheRecord) -> Data? {
        guard let keyID = record.seal, let sealing else { return record.entry.stored.headerBlock }
        return try? sealing.openedHeaders(
            of: record.entry.stored, row: sealing.row(of: record, keyID: keyID), key: record.key)
    }

    /// Returns the response headers of a record, opened; `nil` if they cannot be opened.
    func fields(of record: CacheRecord) -> HTTPFields? { headers(of: record).map(HeaderBlock.fields) }

    /// Returns the request of a record, opened; `nil` if it cannot be opened.
    func request(of record: CacheRecord) -> Sealing.OpenedRequest? {
        guard let keyID = record.seal else { return Sealing.OpenedRequest(url: record.url, form: record.entry.request) }
        return try? sealing?.open(request: Data(record.entry.request), keyID: keyID, key: record.key)
    }

    /// Returns the listing of a record, with its URL opened; `nil` for the index of variants.
    func listing(of record: CacheRecord) -> CacheListing? {
        guard record.isResponse else { return nil }
        var listing = CacheListing(record)
        if record.seal != nil {
            let request = request(of: record)
            listing.url = request?.url ?? "•••"
            listing.isLocked = request == nil
        }
        return listing
    }
}

extension Sealing {
    fileprivate func row(of record: CacheRecord, keyID: String) -> Row {
        Row(keyID: keyID, request: Data(record.entry.request), bodySize: record.body.size, digest: record.bodyID)
    }
}
