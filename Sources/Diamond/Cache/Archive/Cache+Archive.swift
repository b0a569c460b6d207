import Foundation
import HTTPTypes

/// A response to be copied into an archive.
package struct ArchivedResponse {
    package let entry: ArchivedEntry
    package var body: BodyReader
}

/// The place of an archived response in a cache.
package struct ArchivePlace: Sendable {
    fileprivate var entry: CacheEntry
    /// The index of the variants, if the response needs another one than the cache has.
    fileprivate var index: CacheEntry?
    /// Whether the cache has the response, and needs only the index.
    fileprivate var isStored = false
}

// MARK: Copying into an archive

extension Cache {
    /// A digest that tells whether two stores have the same secret.
    package var secretID: String { rules.digest(of: "diamond archive".utf8) }

    /// Returns the response of a listed entry, in clear; `nil` if it is a part, gone or damaged, if it cannot be opened,
    /// if it is a variant that no request can select any more, or if it is sealed and has tags: a sealed store has only
    /// their digests.
    package func archived(_ listing: CacheListing) throws(CacheError) -> ArchivedResponse? {
        guard !listing.isPartial,
            let record = try storage.records(under: listing.key, bodyLimit: 0).first(where: { $0.key == listing.key }),
            let request = storage.coding.request(of: record), try canBeSelected(request.form),
            let body = try archiveReader(of: listing.key, request: request.form),
            let names = names(of: record, request, body.stored.headers)
        else { return nil }
        let entry = ArchivedEntry(body.stored, of: request, method: listing.method, names: names)
        return ArchivedResponse(entry: entry, body: body)
    }

    /// Returns the names of an entry in clear, without that of its variants; `nil` if one is sealed and unknown.
    private func names(
        of record: CacheRecord, _ request: Sealing.OpenedRequest, _ headers: HTTPFields
    ) -> [String]? {
        let variants = CacheEntry.name(
            ofVariantsUnder: RequestKey(of: Array(ArchivedEntry.request(in: Data(request.form)))))
        // A sealed variant has this name in clear, too.
        let stored = record.names.filter { $0.hasPrefix("t ") }.map { String($0.dropFirst(2)) }.filter {
            $0 != variants
        }
        guard record.seal != nil, let sealing = storage.coding.sealing else { return stored }
        let origin = request.url.prefix { $0 != "?" }.split(separator: "/").prefix(2).joined(separator: "//")
        var known = CacheGroups.names(of: headers, origin: origin)
        known.formUnion([variants, CacheEntry.name(ofAllLike: request.url)])
        let found = known.filter { stored.contains(sealing.tag($0)) }
        return found.count == stored.count ? found.filter { $0 != variants } : nil
    }

    /// Whether requests can select the response with a canonical form. A variant needs the index that has its
    /// generation: another response may have superseded the variants of an older one.
    private func canBeSelected(_ form: [UInt8]) throws(CacheError) -> Bool {
        let request = Array(ArchivedEntry.request(in: Data(form)))
        guard request.count < form.count else { return true }
        let stored = try archiveReader(of: RequestKey(of: request), request: request)?.stored
        return stored.flatMap { VariantIndex($0) }.map { form.starts(with: request + $0.firstLine) } ?? false
    }

    /// Returns a reader of the stored body. Unlike ``bodyReader(_:request:url:)``, it asks a server.
    func archiveReader(of key: RequestKey, request: [UInt8]) throws(CacheError) -> BodyReader? {
        if let reader = try bodyReader(key, request: request) { return reader }
        return keepsParts ? nil : try findOnDisk(key, request: request).map { BodyReader($0) }
    }
}

// MARK: Copying from an archive

extension Cache {
    /// Returns the place for an archived response; `nil` if the cache has the same or a newer one, or could not find it:
    /// its key depends on the secret of another store.
    ///
    /// - Parameter secretID: ``secretID`` of the store that was archived.
    package func place(for archived: ArchivedEntry, of secretID: String?) throws(CacheError) -> ArchivePlace? {
        guard !archived.hasDigests || secretID == self.secretID else { return nil }
        var archived = archived
        // By a clock that was ahead, it would be newer than all that is received until then.
        archived.storedAt = min(archived.storedAt, now().rawValue)
        let request = archived.request
        let key = RequestKey(of: request)
        let known = try archiveReader(of: key, request: request)?.stored
        guard let selection = archived.selection, let fields = selection.fields else {
            guard archived.isNewer(than: known) else { return nil }
            return ArchivePlace(entry: entry(archived, under: key, request: request))
        }
        let kind: CacheKind = archived.stored.flags.contains(.shared) ? .shared : .private
        let oldIndex = known.flatMap { $0.isOf(kind) ? VariantIndex($0) : nil }
        guard oldIndex != nil || archived.isNewer(than: known) else { return nil }
        let index = (oldIndex ?? VariantIndex(fields, generation: .random(in: .min ... .max)))
            .adding(fields).adding(variant: selection)
        let form = request + index.lines(of: selection)
        let variantKey = RequestKey(of: form)
        let isNewer = archived.isNewer(than: try archiveReader(of: variantKey, request: form)?.stored)
        // A program that dies during an import can leave a variant on disk without its fields in the index.
        guard isNewer || oldIndex?.sets.contains(fields) == false else { return nil }
        var place = ArchivePlace(entry: entry(archived, under: variantKey, request: form), isStored: !isNewer)
        place.entry.requestKey = key
        if index != oldIndex {
            place.index = entry(archived, under: key, request: request)
            place.index?.stored = index.stored(at: now(), kind: kind)
        }
        return place
    }

    private func entry(_ archived: ArchivedEntry, under key: RequestKey, request: [UInt8]) -> CacheEntry {
        CacheEntry(
            key: key, request: request, url: archived.url, method: archived.method, identity: archived.identity,
            stored: archived.stored, tags: Tags(archived.names))
    }

    /// Returns a writer of the body of an archived response; `nil` if the cache has the response. Nothing can be found
    /// before ``finish(_:at:)``.
    package func bodyWriter(at place: ArchivePlace) throws(CacheError) -> BodyWriter? {
        guard !place.isStored else { return nil }
        var entry = place.entry
        // The checksum follows the body. Until then, the bytes on disk must not answer ranges, nor be continued.
        entry.stored = entry.stored.withoutValidators
        return try bodyWriter(for: entry)
    }

    /// Stores the index of an archived variant that the cache has, if the index does not have its fields.
    package func repairIndex(at place: ArchivePlace) {
        if place.isStored, let index = place.index { store(index) }
    }

    /// Makes a written body the entry of its key, with the times of the archive.
    ///
    /// - Returns: `false` if the cache has a newer response by now.
    package func finish(_ writer: BodyWriter, at place: ArchivePlace) async throws(CacheError) -> Bool {
        do throws(CacheError) {
            try await writer.finish(as: place.entry.stored)
        } catch  where error.code == .entryGone {
            return false
        }
        if let index = place.index { store(index) }
        // A storage on a server ignores the mark of a new record.
        if place.entry.stored.flags.contains(.pinned) { try await setPinned(true, for: place.entry.key) }
        return true
    }
}

extension ArchivedEntry {
    fileprivate func isNewer(than known: StoredResponse?) -> Bool {
        known.map { $0.storedAt.rawValue < storedAt } ?? true
    }
}

extension StoredResponse {
    /// The response without the fields that a part of it needs (RFC 9110 section 8.8).
    fileprivate var withoutValidators: StoredResponse {
        var response = self
        var headers = headers
        headers[.eTag] = nil
        headers[.lastModified] = nil
        response.headerBlock = HeaderBlock.bytes(of: headers)
        response.flags.remove(.hasValidator)
        return response
    }
}
