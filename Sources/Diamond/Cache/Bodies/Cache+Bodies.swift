import DiamondSQLite
import Foundation

/// Stored bodies that are too large to be held in memory.
extension Cache {
    /// Returns the body stored under a key, to be read a chunk at a time, and the rest of the answer as a lookup would
    /// give it; `nil` where there is none, or none that is sound.
    ///
    /// A body that is replaced or evicted meanwhile ends in the error `entryGone`. The bytes read until then are of one
    /// body.
    ///
    /// - Parameter url: as for ``find(_:request:url:)``.
    package func bodyReader(
        _ key: RequestKey,
        request: [UInt8],
        url: String? = nil
    ) throws(CacheError) -> BodyReader? {
        heedNeighbors()
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
        guard var outline = try outline(of: key, request, isPartial: false) else { return nil }
        outline.stored.sizeElsewhere = try size(of: outline)
        // The body stays where it is.
        outline.stored = pending.written(onto: outline.stored).withoutBody
        if !outline.isVisited { writer.visit(key) }
        return BodyReader(outline, cache: self)
    }

    /// Bytes of a body as it came: all chunks but the last are of one size, whatever they take where they are sealed or
    /// compressed.
    private func size(of outline: BodyOutline) throws(CacheError) -> Int {
        guard outline.seal != nil || outline.isCompressed, !outline.sizes.isEmpty else { return outline.bodySize }
        let number = outline.sizes.count - 1
        guard let last = try chunk(number, of: outline) else { throw .entryGone }
        return number * CacheTable.chunkSize + last.count
    }

    func outline(
        of key: RequestKey,
        _ request: [UInt8],
        isPartial: Bool
    ) throws(CacheError) -> BodyOutline? {
        let row = try file.read { (connection) throws(SQLiteError) in
            try CacheTable.outline(of: key, isPartial: isPartial, on: connection)
        }
        switch row?.finding(key, request, file.sealing) {
        case .outline(let outline): return outline
        case .other(let finding): heed(finding, of: key, isPartial: isPartial)
        case nil: break
        }
        return nil
    }

    /// - Returns: `nil` where the entry has gone.
    /// - Throws: `corrupt` where it is there, and the chunk is damaged: then it is dropped.
    func chunk(_ number: Int, of outline: BodyOutline) throws(CacheError) -> Data? {
        guard outline.checksums.indices.contains(number) else { return Data() }
        if let chunk = try file.chunk(number, of: outline) { return chunk }
        // After the chunk: where the entry is still the same, it was it when the chunk was read.
        let isThere = try file.read { (connection) throws(SQLiteError) in
            try CacheTable.isThere(outline, on: connection)
        }
        guard isThere else { return nil }
        heed(.damaged(reason: "its body's checksum is wrong"), of: outline.key, isPartial: outline.isPartial)
        throw CacheError(.corrupt, "the entry \(outline.key) is damaged, and was dropped: send its request again")
    }
}

extension CacheError {
    static let entryGone = CacheError(
        .entryGone, "the entry was replaced, evicted or erased meanwhile: send its request again")
}
