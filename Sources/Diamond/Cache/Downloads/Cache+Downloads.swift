import DiamondSQLite
import Foundation

/// The downloads that later processes may continue.
///
/// A part file is removed only without a lock: a download that runs keeps its file. If its row is gone, it stops
/// recording. A file is removed before its row, so that a process that is killed leaves no file that nothing names.
extension Cache {
    /// Returns the downloads of a request to a file, the one with the most bytes first. Damaged rows and outdated ones
    /// are removed. Rows that this process cannot open stay. A sealed store ignores rows in clear, because anyone could
    /// have written them.
    func downloads(of key: RequestKey, request: [UInt8], to target: String) throws(CacheError) -> [KeptDownload] {
        guard let file = sqlite?.file else { return [] }
        let rows = try file.read { (connection) throws(SQLiteError) in
            try CacheTable.downloads(of: key, to: target, on: connection)
        }
        return rows.compactMap { row in
            guard row.download?.isOutdated(at: now()) != true else {
                drop(row)
                return nil
            }
            switch file.opened(row) {
            case .download(let download):
                return download.request == request && download.target == target ? download : nil
            case .damaged:
                activity.report(.cacheEntryDropped(reason: "a download of \(key) was dropped: its row is damaged"))
                drop(row)
            case .locked: break
            }
            return nil
        }
    }

    /// Whether the row of a download is still there. If that is unknown, it is.
    func has(_ download: KeptDownload) -> Bool {
        do throws(CacheError) {
            return try file.read { (connection) throws(SQLiteError) in
                try CacheTable.download(download.id, on: connection)?.part == download.part
            }
        } catch {
            return true
        }
    }

    /// Records the bytes of a download that are on the disk, and removes the downloads that are too old.
    ///
    /// - Returns: the download with its row.
    /// - Throws: `entryGone` if its row was erased.
    func record(_ download: KeptDownload) async throws(CacheError) -> KeptDownload {
        let file = try file
        let generation = file.generation
        let row = try file.row(of: download)
        guard download.id != 0 else { return try await insert(download, as: row, generation: generation) }
        let path = file.store.cachePath
        try await change { (connection) throws(SQLiteError) in
            guard try CacheTable.update(row, on: connection) else {
                throw SQLiteError(.entryGone, "a download was erased while it was received", path: path)
            }
        }
        return download
    }

    private func insert(
        _ download: KeptDownload, as row: KeptDownload, generation: Int
    ) async throws(CacheError) -> KeptDownload {
        let file = try file
        let oldest = CacheSelection.stored(before: now() - PartFile.lifetime)
        var inserted = download
        inserted.id = try await change { (connection) throws(SQLiteError) in
            try CacheTable.eraseDownloads(oldest, on: connection).forEach(PartFile.removeUnlocked)
            try file.throwIfReplaced(of: generation)
            return try CacheTable.insert(row, on: connection)
        }
        return inserted
    }

    /// Removes the row of a download, soon.
    func removeRecord(of download: KeptDownload) { remove(CacheTable.DownloadRow(download), path: nil) }

    /// Removes a download that cannot be continued, soon.
    func drop(_ download: KeptDownload) { drop(CacheTable.DownloadRow(download)) }

    private func drop(_ row: CacheTable.DownloadRow) { remove(row, path: row.path) }

    private func remove(_ row: CacheTable.DownloadRow, path: String?) {
        guard let file = sqlite?.file else { return }
        writer.soon { () throws(CacheError) in
            path.map(PartFile.removeUnlocked)
            try file.write { (connection) throws(SQLiteError) in _ = try CacheTable.delete(row, on: connection) }
        }
    }

    // MARK: For people

    /// Returns all downloads with sound rows, the oldest first. Of a row that cannot be opened, the URL is `•••`, and
    /// the target is the path of the part file.
    package func downloads() throws(CacheError) -> [KeptDownload] {
        guard let file = sqlite?.file else { return [] }
        let rows = try file.read { (connection) throws(SQLiteError) in try CacheTable.downloads(on: connection) }
        return rows.compactMap { row in
            switch file.opened(row) {
            case .download(let download): return download
            case .locked(var download):
                if download.keyID != nil { download.url = "•••" }
                return download
            case .damaged: return nil
            }
        }
    }

    /// Removes downloads: their rows, and the part files that no download writes.
    ///
    /// - Returns: the number of removed rows.
    package func remove(_ downloads: [KeptDownload]) async throws(CacheError) -> Int {
        downloads.compactMap(\.path).forEach(PartFile.removeUnlocked)
        let file = try file
        return try await writer.alone { () throws(CacheError) in
            try file.erasing { (connection) throws(SQLiteError) in
                var count = 0
                for row in downloads.map(CacheTable.DownloadRow.init) {
                    if try CacheTable.delete(row, on: connection) { count += 1 }
                }
                return count
            }
        }
    }
}
