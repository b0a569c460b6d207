import DiamondSQLite
import Foundation

/// The beginning of a body in the store, left by an unfinished transfer: a partial entry.
///
/// Its complete length and validator are in ``stored``. It is always a prefix, so its size tells which bytes are
/// stored.
package struct PartialBody: Sendable {
    let outline: BodyOutline
    /// The number of bytes that were received.
    package let size: Int

    /// The head of the response, without the body. `storedAt` is when its last bytes were written.
    package var stored: StoredResponse { outline.stored }
}

extension Cache {
    /// Returns a writer for an entry whose body arrives in pieces. Nothing is written before the bytes
    /// of one transaction, or the whole body, have arrived.
    ///
    /// - Parameters:
    ///   - entry: the entry without its body. Its headers and validator are stored with the received bytes.
    ///   - partial: the partial body to continue; `nil` begins a new body, which replaces a partial body.
    ///   - isReplacing: whether it replaces an outdated response.
    ///   - isResumable: whether small transactions are used, so that a killed process loses less than 256 KiB;
    ///     otherwise they have a mebibyte.
    /// - Throws: `entryGone` if the partial body was replaced or removed; `corrupt` if it is damaged: it is then dropped.
    package func bodyWriter(
        for entry: CacheEntry,
        continuing partial: PartialBody? = nil,
        replacing isReplacing: Bool = false,
        isResumable: Bool = false
    ) throws(CacheError) -> BodyWriter {
        guard let partial else {
            return BodyWriter(entry, isReplacing: isReplacing, isResumable: isResumable, cache: self)
        }
        guard let last = try chunk(partial.outline.checksums.count - 1, of: partial.outline) else { throw .entryGone }
        let renewed = PartialBody(outline: try renewed(partial.outline), size: partial.size)
        return BodyWriter(
            entry, continuing: renewed, last: last, isReplacing: isReplacing, isResumable: isResumable, cache: self)
    }

    /// Returns an outline with ``BodyChecksums``, which the writer of an old partial body continues. The last chunk is
    /// written again.
    private func renewed(_ outline: BodyOutline) throws(CacheError) -> BodyOutline {
        guard BodyChecksums.isOld(outline.digest) else { return outline }
        var renewed = outline
        for number in outline.checksums.indices.dropLast() {
            let stored = try file.read { (connection) throws(SQLiteError) in
                try CacheTable.chunk(number, of: outline, on: connection)
            }
            guard let bytes = stored?.bytes, BodyChecksums.matches(bytes, checksum: outline.checksums[number]) else {
                throw stored?.isOfSameBody == true ? dropped(outline) : .entryGone
            }
            renewed.checksums[number] = bytes.withUnsafeBytes { BodyChecksums.checksum(of: $0) }
        }
        return renewed
    }

    /// Whether the store may have partial bodies. A partial body of another process is known after a tenth of a second.
    package var mayHavePartialBodies: Bool { crossProcessChanges.partials.isPossible }

    /// Returns the partial body of a key; `nil` if there is none, it is damaged, or it cannot be continued because it
    /// was sealed with an older key.
    package func partialBody(_ key: RequestKey, request: [UInt8]) throws(CacheError) -> PartialBody? {
        let coding = try file.coding
        guard let outline = try outline(of: key, request, isPartial: true), coding.seals(with: outline.keyID),
            !outline.checksums.isEmpty, let last = try chunk(outline.checksums.count - 1, of: outline)
        else { return nil }
        // All chunks but the last have one size before they are sealed or compressed.
        return PartialBody(outline: outline, size: (outline.sizes.count - 1) * CacheTable.chunkSize + last.count)
    }

    /// Returns a reader of the received bytes, a chunk at a time.
    package func reader(of partial: PartialBody) -> BodyReader { BodyReader(partial.outline, cache: self) }
}
