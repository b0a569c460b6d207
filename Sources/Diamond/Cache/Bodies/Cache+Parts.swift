import DiamondSQLite

/// The stored parts that answer ranges.
extension Cache {
    /// Returns the partial body of a key, as all pending changes leave it; `nil` if a waiting change replaces or erases
    /// it.
    ///
    /// - Parameter url: as for ``find(_:request:url:)``.
    func part(_ key: RequestKey, request: [UInt8], url: String? = nil) throws(CacheError) -> PartialBody? {
        applyOtherProcessesChanges()
        let pending = writer.pending(key, url: url)
        switch pending.change?.action {
        case .store, .delete: return nil
        case .confirm, nil: break
        }
        guard let body = try partialBody(key, request: request) else { return nil }
        var outline = body.outline
        outline.stored = pending.marked(outline.stored)
        return PartialBody(outline: outline, size: body.size)
    }

    /// Erases the partial body of a key, soon.
    func dropPart(of key: RequestKey) {
        guard let file = sqlite?.file else { return }
        writer.soon { () throws(CacheError) in
            try file.write { (connection) throws(SQLiteError) in try CacheTable.deletePart(of: key, on: connection) }
        }
    }
}
