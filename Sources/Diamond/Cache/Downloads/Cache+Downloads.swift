import DiamondSQLite
import Foundation

/// The downloads that later processes may continue.
///
/// A part file is removed only without a lock: a download that runs keeps its file. If its row is gone, it stops
/// recording. A file is removed before its row, so that a process that is killed leaves no file that nothing names.
extension Cache {
    /// Whether downloads are recorded. A sealed store has no rows, because the part files are in clear.
    var keepsDownloads: Bool { file.seal == nil }

    /// Returns the downloads of a request to a file, the one with the most bytes first. Damaged rows and outdated ones
    /// are removed.
    func downloads(of key: RequestKey, request: [UInt8], to target: String) throws(CacheError) -> [KeptDownload] {
        let rows = try file.read { (connection) throws(SQLiteError) in
            try CacheTable.downloads(of: key, to: target, on: connection)
        }
        return rows.compactMap { row in
            guard let download = row.download else {
                activity.report(.cacheEntryDropped(reason: "a download of \(key) was dropped: its row is damaged"))
                drop(row)
                return nil
            }
            guard !download.isOutdated(at: now()) else {
                drop(row)
                return nil
            }
            return download.request == request ? download : nil
        }
    }

    /// Records the bytes of a download that are on the disk, and removes the downloads that are too old.
    ///
    /// - Returns: the download with its row.
    /// - Throws: `entryGone` if its row was erased.
    func record(_ download: KeptDownload) async throws(CacheError) -> KeptDownload {
        guard download.id != 0 else { return try await insert(download) }
        let path = file.store.cachePath
        try await change { (connection) throws(SQLiteError) in
            guard try CacheTable.update(download, on: connection) else {
                throw SQLiteError(.entryGone, "a download was erased while it was received", path: path)
            }
        }
        return download
    }

    private func insert(_ download: KeptDownload) async throws(CacheError) -> KeptDownload {
        let oldest = CacheSelection.stored(before: now() - PartFile.lifetime)
        var inserted = download
        inserted.id = try await change { (connection) throws(SQLiteError) in
            try CacheTable.eraseDownloads(oldest, on: connection).forEach(PartFile.removeUnlocked)
            return try CacheTable.insert(download, on: connection)
        }
        return inserted
    }

    /// Removes the row of a download, soon.
    func removeRecord(of download: KeptDownload) { remove(CacheTable.DownloadRow(download), path: nil) }

    /// Removes a download that cannot be continued, soon.
    func drop(_ download: KeptDownload) { drop(CacheTable.DownloadRow(download)) }

    private func drop(_ row: CacheTable.DownloadRow) { remove(row, path: row.path) }

    private func remove(_ row: CacheTable.DownloadRow, path: String?) {
        writer.queue.async { [file, activity] in
            path.map(PartFile.removeUnlocked)
            do throws(CacheError) {
                try file.write { (connection) throws(SQLiteError) in _ = try CacheTable.delete(row, on: connection) }
            } catch {
                activity.report(.cacheFailed(reason: error.message))
            }
        }
    }

    // MARK: For people

    /// Returns all downloads with sound rows, the oldest first.
    package func downloads() throws(CacheError) -> [KeptDownload] {
        try file.read { (connection) throws(SQLiteError) in try CacheTable.downloads(on: connection) }
            .compactMap(\.download)
    }

    /// Removes downloads: their rows, and the part files that no download writes.
    ///
    /// - Returns: the number of removed rows.
    package func remove(_ downloads: [KeptDownload]) async throws(CacheError) -> Int {
        downloads.compactMap(\.path).forEach(PartFile.removeUnlocked)
        let file = file
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

extension CacheFile {
    /// Erases the downloads of a selection: their rows, and the part files that no download writes.
    func eraseDownloads(_ selection: CacheSelection) throws(CacheError) {
        try erasing { (connection) throws(SQLiteError) in
            try CacheTable.eraseDownloads(selection, on: connection).forEach(PartFile.removeUnlocked)
        }
    }
}
