import DiamondSQLite
import Foundation

/// Bodies that are too large to be held in memory, and what broken transfers have left of them.
extension Cache {
    /// Begins an entry whose body comes in pieces. Nothing is written before there is a mebibyte of it, or its end.
    ///
    /// - Parameters:
    ///   - entry: without its body. Its headers and validator are kept with what has arrived.
    ///   - partial: what was received before, to go on behind; `nil` begins anew, and takes the place of what is there.
    ///   - isReplacing: whether another answer was there, and was no longer right.
    /// - Throws: `entryGone` where the partial body is another one by now.
    package func bodyWriter(
        for entry: CacheEntry,
        continuing partial: PartialBody? = nil,
        replacing isReplacing: Bool = false
    ) throws(CacheError) -> BodyWriter {
        guard let partial else { return BodyWriter(entry, isReplacing: isReplacing, cache: self) }
        guard let last = try chunk(partial.outline.checksums.count - 1, of: partial.outline) else { throw .entryGone }
        return BodyWriter(entry, continuing: partial, last: last, isReplacing: isReplacing, cache: self)
    }

    /// Whether some transfer may have left something. What another process has just left is known a tenth of a second later.
    package var mayHavePartialBodies: Bool { neighbors.partials.isPossible }

    /// What a transfer that did not come to its end has left under a key; `nil` where there is nothing sound, or nothing
    /// that could go on: it was sealed with an older key.
    package func partialBody(_ key: RequestKey, request: [UInt8]) throws(CacheError) -> PartialBody? {
        guard let outline = try outline(of: key, request, isPartial: true), file.seals(with: outline.seal),
            !outline.checksums.isEmpty, let last = try chunk(outline.checksums.count - 1, of: outline)
        else { return nil }
        // All chunks but the last are of one size, whatever they take when they are written.
        return PartialBody(outline: outline, size: (outline.sizes.count - 1) * CacheTable.chunkSize + last.count)
    }

    /// What was received, to be read a chunk at a time.
    package func reader(of partial: PartialBody) -> BodyReader { BodyReader(partial.outline, cache: self) }

    /// The body that is stored under a key, to be read a chunk at a time, and the rest of the answer as a lookup would give
    /// it; `nil` where there is nothing, or nothing sound.
    ///
    /// What is replaced or evicted meanwhile ends in the error `entryGone`; what was read until then is of one body.
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

    private func outline(
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
