import DiamondSQLite
import Foundation

/// Reading stored bodies in chunks.
extension Cache {
    /// Returns a reader of the body stored under a key, with the response that a lookup would return; `nil` if there is
    /// no sound one.
    ///
    /// If the body is replaced or evicted in the meantime, reading throws `entryGone`. The bytes read until then are of
    /// one body.
    ///
    /// - Parameter url: as for ``find(_:request:url:)``.
    package func bodyReader(
        _ key: RequestKey,
        request: [UInt8],
        url: String? = nil
    ) throws(CacheError) -> BodyReader? {
        applyOtherProcessesChanges()
        if case .hit(let stored, let isFirst) = memory.find(key, request: request) {
            if isFirst { writer.visit(key) }
            return BodyReader(stored)
        }
        let pending = writer.pending(key, url: url)
        switch pending.change?.action {
        case .store(let entry): return entry.request == request ? BodyReader(pending.marked(entry.stored)) : nil
        case .delete: return nil
        case .confirm, nil: break
        }
        if let loaded { return loaded.find(key, request: request).map { BodyReader(pending.written(onto: $0)) } }
        guard var outline = try outline(of: key, request, isPartial: false) else { return nil }
        outline.stored.sizeElsewhere = try size(of: outline)
        // The body stays on disk.
        outline.stored = pending.written(onto: outline.stored).withoutBody
        if !outline.isVisited { writer.visit(key) }
        return BodyReader(outline, cache: self)
    }

    /// Returns the original bytes of a body, before compression and sealing: all chunks but the last have one size.
    private func size(of outline: BodyOutline) throws(CacheError) -> Int {
        guard outline.keyID != nil || outline.isCompressed, !outline.sizes.isEmpty else { return outline.bodySize }
        let number = outline.sizes.count - 1
        guard let last = try chunk(number, of: outline) else { throw .entryGone }
        return number * CacheTable.chunkSize + last.count
    }

    func outline(
        of key: RequestKey,
        _ request: [UInt8],
        isPartial: Bool
    ) throws(CacheError) -> BodyOutline? {
        let file = try file
        let row = try file.read { (connection) throws(SQLiteError) in
            try CacheTable.outline(of: key, isPartial: isPartial, on: connection)
        }
        switch row?.verified(for: key, form: request, sealing: file.sealing) {
        case .outline(let outline): return outline
        case .other(let finding): handle(finding, of: key, isPartial: isPartial)
        case nil: break
        }
        return nil
    }

    /// Returns a chunk of a body; `nil` if the entry is gone.
    ///
    /// - Throws: `corrupt` if the chunk is damaged: the entry is then dropped, unless the store is inspected.
    func chunk(_ number: Int, of outline: BodyOutline) throws(CacheError) -> Data? {
        guard outline.checksums.indices.contains(number) else { return Data() }
        let file = try file
        let stored = try file.read { (connection) throws(SQLiteError) in
            try CacheTable.chunk(number, of: outline, on: connection)
        }
        guard let stored else { return nil }
        if let chunk = try file.coding.opened(stored, number: number, of: outline) { return chunk }
        guard stored.isOfSameBody else { return nil }
        throw dropped(outline)
    }

    /// Passes on a chunk of a body that is neither sealed nor compressed, without a copy. The bytes are valid in `use`.
    ///
    /// - Returns: `false` if the entry is gone.
    /// - Throws: as ``chunk(_:of:)``.
    func withPlainChunk(
        _ number: Int, of outline: BodyOutline, _ use: (UnsafeRawBufferPointer) -> Void
    ) throws(CacheError) -> Bool {
        let chunk = try file.read { (connection) throws(SQLiteError) in
            try CacheTable.withChunk(number, of: outline, on: connection) { bytes, isOfSameBody in
                let sound = bytes.flatMap {
                    BodyChecksums.matches($0, checksum: outline.checksums[number]) ? $0 : nil
                }
                if let sound { use(sound) }
                return (isSound: sound != nil, isOfSameBody: isOfSameBody)
            }
        }
        guard let chunk, !chunk.isSound else { return chunk != nil }
        guard chunk.isOfSameBody else { return false }
        throw dropped(outline)
    }

    /// Drops an entry with a damaged chunk, unless the store is inspected, and returns the error for its reader.
    func dropped(_ outline: BodyOutline) -> CacheError {
        handle(.damaged(reason: "its body's checksum is wrong"), of: outline.key, isPartial: outline.isPartial)
        let effect = isInspecting ? "" : ", and was dropped"
        return CacheError(.corrupt, "the entry \(outline.key) is damaged\(effect): send its request again")
    }
}

extension CacheError {
    static let entryGone = CacheError(
        .entryGone, "the entry was replaced, evicted or erased meanwhile: send its request again")
}
