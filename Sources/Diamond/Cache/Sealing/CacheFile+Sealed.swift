import DiamondSQLite
import Foundation

/// Writing rows of a sealed store.
extension CacheFile {
    /// Returns the change that confirms a row; `nil` if the row is not the one that was confirmed. Another process may
    /// have stored a newer one in the meantime, or marked it stale.
    func confirmation(
        of entry: CacheEntry,
        replacing old: StoredResponse,
        sealing: Sealing
    ) throws(CacheError) -> SealedRevalidation? {
        let row = try read { (connection) throws(SQLiteError) in
            try CacheTable.sealedRow(entry.key, on: connection)
        }
        guard let row, row.confirms(old),
            let headers = try? sealing.openedHeaders(of: row.stored, row: row.row, key: entry.key),
            headers == old.headerBlock
        else { return nil }
        // If the body was sealed with an older key, a new row is stored. Without the body in memory, the entry stays
        // stale.
        guard row.row.keyID == sealing.seal.keyID else {
            guard entry.stored.isWhole else { return nil }
            let new = try coding.record(of: entry, chunks: CacheTable.chunks(of: entry.stored.body))
            return SealedRevalidation(row: row, old: old, change: .replace(new))
        }
        var stored = entry.stored
        stored.flags.formUnion(row.stored.flags.intersection(.compressed))
        let size = row.row.bodySize
        let digest = row.row.digest
        stored.headerBlock = try coding.sealed {
            try sealing.headers(of: stored, key: entry.key, bodySize: size, digest: digest)
        }
        let checksum = Checksum.row(
            key: entry.key, request: Array(row.row.request), stored: stored, bodySize: size, digest: digest)
        let change = SealedRevalidation.Change.update(stored, checksum: checksum, tags: coding.tags(of: entry))
        return SealedRevalidation(row: row, old: old, change: change)
    }

    /// - Returns: whether the row is still there as it was read.
    func confirm(
        _ confirmation: SealedRevalidation,
        of key: RequestKey,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> Bool {
        guard let row = try CacheTable.sealedRow(key, on: connection), row.isUnchanged(since: confirmation.row),
            row.confirms(confirmation.old)
        else { return false }
        switch confirmation.change {
        case .update(let stored, let checksum, let tags):
            try CacheTable.update(row.id, to: stored, checksum: checksum, on: connection)
            try CacheTable.addTags(tags, to: row.id, on: connection)
        case .replace(let new):
            // The names stay: their digests depend on the store's secret, not on the key.
            let names = try CacheTable.tags(of: row.id, on: connection)
            guard let id = try CacheTable.store(new, on: connection) else { return false }
            try CacheTable.addTags(names, to: id, on: connection)
        }
        return true
    }

    /// Throws if the file was replaced since a change was sealed: the new file has another secret.
    func throwIfReplaced(of generation: Int) throws(SQLiteError) {
        guard seal != nil, generation != self.generation else { return }
        throw SQLiteError(.fileReplaced, "was replaced while a change of it was sealed", path: store.cachePath)
    }
}

/// The queries of a sealed store. A query by the beginning of a URL opens each entry that may match.
extension CacheFile {
    private static let pageSize = 1000

    /// Returns the canonical form of a request; `nil` if there is none, or it cannot be opened.
    func canonicalForm(
        of key: RequestKey,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> String? {
        guard let stored = try CacheTable.request(of: key, on: connection) else { return nil }
        guard stored.seal != nil else { return String(decoding: stored.bytes, as: UTF8.self) }
        return open(stored, key: key).map { String(decoding: $0.form, as: UTF8.self) }
    }

    private func open(_ stored: CacheTable.StoredRequest, key: RequestKey) -> Sealing.OpenedRequest? {
        guard let sealing, let id = stored.seal else { return nil }
        return try? sealing.open(request: stored.bytes, keyID: id, key: key)
    }

    /// Returns listings with the URLs of the sealed entries opened.
    func opened(
        _ listings: [CacheListing],
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) -> [CacheListing] {
        guard listings.contains(where: \.isSealed) else { return listings }
        var opened = listings
        for index in opened.indices where opened[index].isSealed {
            let key = opened[index].key
            let stored = try CacheTable.request(of: key, on: connection)
            let url = stored.flatMap { open($0, key: key)?.url }
            opened[index].url = url ?? "•••"
            opened[index].isLocked = url == nil
        }
        return opened
    }

    /// Returns selections that together name the entries of one selection. A sealed store knows tags, identities, URLs
    /// and hosts by their digests. It has to open each entry to know the beginning of its URL. Entries in clear, from
    /// before it was sealed, are named as usual.
    func parts(of selection: CacheSelection) throws(CacheError) -> [CacheSelection] {
        if case .key(let key) = selection.criterion {
            // The entry is that of a response, or the index of its variants.
            return try [selection] + parts(of: .tag(CacheEntry.name(ofVariantsUnder: key)))
        }
        guard sealing != nil else { return [selection] }
        guard let test = selection.urlTest else { return coding.alternatives(to: selection) }
        return try [selection] + groups(among: candidates(of: selection), where: test)
    }

    func parts(of selections: [CacheSelection]) throws(CacheError) -> [CacheSelection] {
        var parts: [CacheSelection] = []
        for selection in selections { parts += try self.parts(of: selection) }
        return parts
    }

    /// Returns the entries that may be of any identity, for this process: those that it cannot decrypt, and those with
    /// digests of another secret. An erasure by identity includes them.
    func unknownIdentities() throws(CacheError) -> CacheSelection {
        let secrets = try read(CacheTable.sealedSecrets)
        // A store without a sealed secret has no sealed rows.
        guard !secrets.isEmpty else { return CacheSelection(criterion: .sealedIdentities(keyIDs: [])) }
        let others = try read(CacheTable.sealedSamples).filter { $0.keyID != seal?.keyID }
        do throws(SQLiteError) {
            var keyIDs: [String] = []
            for sample in others {
                if let seal, secrets[sample.keyID] == nil,
                    try SealedSecret(seal).opens(sample, path: store.cachePath)
                {
                    continue
                }
                keyIDs.append(sample.keyID)
            }
            return CacheSelection(criterion: .sealedIdentities(keyIDs: keyIDs))
        } catch {
            throw CacheError(error)
        }
    }

    /// Returns the entries that have to be opened to know whether their URLs begin with a prefix. If the prefix names a
    /// host, they are the entries of that host only.
    private func candidates(of selection: CacheSelection) -> [[CacheSelection]] {
        guard case .urlPrefix(let prefix) = selection.criterion, let host = URLHost.ofAll(beginningWith: prefix) else {
            return []
        }
        return [coding.alternatives(to: .host(String(host)))]
    }

    /// Returns selections of the sealed entries that match a test.
    private func groups(
        among selections: [[CacheSelection]],
        where isNamed: (CacheListing) -> Bool
    ) throws(CacheError) -> [CacheSelection] {
        // A key may have both a partial and a whole entry; the selection includes both.
        var keys: Set<RequestKey> = []
        try forEachPage(of: selections) { page in
            keys.formUnion(page.filter { $0.isSealed && isNamed($0) }.map(\.key))
        }
        return CacheSelection.groups(of: Array(keys))
    }

    /// Returns a page of the entries that are in each of some selections.
    func list(
        _ selections: [CacheSelection],
        by order: CacheOrder,
        after cursor: CacheCursor?,
        limit: Int
    ) throws(CacheError) -> [CacheListing] {
        let known = selections.filter { $0.urlTest == nil }.map { coding.alternatives(to: $0) }
        let tests = selections.compactMap(\.urlTest)
        if sealing != nil, order == .url || !tests.isEmpty {
            let hosts = selections.flatMap { candidates(of: $0) }
            return try sorted(known + hosts, where: tests, by: order, after: cursor, limit: limit)
        }
        let all = sealing == nil ? selections.map { [$0] } : known
        return try read { (connection) throws(SQLiteError) in
            try opened(CacheTable.list(all, by: order, after: cursor, limit: limit, on: connection), on: connection)
        }
    }

    /// Opens all entries of some selections, and returns a sorted page of them.
    private func sorted(
        _ selections: [[CacheSelection]],
        where tests: [(CacheListing) -> Bool],
        by order: CacheOrder,
        after cursor: CacheCursor?,
        limit: Int
    ) throws(CacheError) -> [CacheListing] {
        var listings: [CacheListing] = []
        try forEachPage(of: selections) { page in
            listings += page.filter { listing in
                cursor?.isBefore(listing) ?? true && tests.allSatisfy { $0(listing) }
            }
        }
        return listings.page(by: order, limit: limit)
    }

    // In pages, so that no read transaction delays a checkpoint for long.
    private func forEachPage(
        of selections: [[CacheSelection]] = [],
        _ body: ([CacheListing]) -> Void
    ) throws(CacheError) {
        var next: Int64 = 0
        while true {
            let page = try read { (connection) throws(SQLiteError) in
                let listings = try CacheTable.list(selections, from: next, limit: Self.pageSize, on: connection)
                return try opened(listings, on: connection)
            }
            guard let last = page.last else { return }
            body(page)
            guard last.id < .max else { return }
            next = last.id + 1
        }
    }
}

extension CacheCoding {
    /// Returns the selections for records in clear and for sealed ones that together name the entries of one. The
    /// selection is not by the beginning of a URL.
    func alternatives(to selection: CacheSelection) -> [CacheSelection] {
        switch (selection.criterion, sealing) {
        case (.tag(let name), let sealing?): [selection, .tag(sealing.tag(name))]
        case (.identity(let name), let sealing?): [selection, .identity(sealing.identity(name))]
        case (.url(let url), let sealing?): [selection, .url(sealing.url(url))]
        case (.host(let host), let sealing?): [selection, CacheSelection(criterion: .sealedHost(sealing.host(host)))]
        default: [selection]
        }
    }
}

extension CacheSelection {
    /// A test of whether an entry with a known URL matches; `nil` if the selection is not by the beginning of a URL.
    var urlTest: ((CacheListing) -> Bool)? {
        switch criterion {
        case .urlPrefix(let prefix): { !$0.isLocked && $0.url.utf8.starts(with: prefix.utf8) }
        case .all, .key, .keys, .tag, .identity, .url, .host, .sealedHost, .sealedIdentities, .storedBefore, .expired:
            nil
        }
    }
}
