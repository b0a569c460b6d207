import DiamondSQLite
import Foundation

/// The rows of downloads, sealed if the store does that.
extension CacheFile {
    /// The result of opening a row.
    enum OpenedDownload {
        case download(KeptDownload)
        /// A sound row that this process cannot open, or, in a sealed store, one in clear.
        case locked(KeptDownload)
        case damaged
    }

    /// Returns a download as its row has it.
    func row(of download: KeptDownload) throws(CacheError) -> KeptDownload {
        guard let sealing else { return download }
        return try coding.sealed { try sealing.row(of: download) }
    }

    func opened(_ row: CacheTable.DownloadRow) -> OpenedDownload {
        guard let stored = row.download else { return .damaged }
        guard let keyID = stored.keyID else { return seal == nil ? .download(stored) : .locked(stored) }
        guard let sealing else { return .locked(stored) }
        do {
            return .download(try sealing.download(of: stored, sealedWith: keyID))
        } catch {
            return (error as? CacheSealError)?.code == .notAuthentic ? .damaged : .locked(stored)
        }
    }

    /// Erases the downloads of a selection: their rows, and the part files that no download writes.
    func eraseDownloads(_ selection: CacheSelection) throws(CacheError) {
        let sealed = try sealedDownloads(in: selection)
        try erasing { (connection) throws(SQLiteError) in
            for row in sealed where try CacheTable.delete(row, on: connection) {
                row.path.map(PartFile.removeUnlocked)
            }
            try CacheTable.eraseDownloads(selection, on: connection).forEach(PartFile.removeUnlocked)
        }
    }

    /// Returns the sealed rows that a selection names by a sealed value. A row that cannot be opened may be of any
    /// identity.
    private func sealedDownloads(in selection: CacheSelection) throws(CacheError) -> [CacheTable.DownloadRow] {
        guard selection.needsKey else { return [] }
        let rows = try read { (connection) throws(SQLiteError) in try CacheTable.downloads(on: connection) }
        return rows.filter { row in
            guard let stored = row.download, stored.keyID != nil else { return false }
            guard case .download(let download) = opened(row) else {
                if case .identity = selection.criterion { return stored.identity != nil }
                return false
            }
            return selection.includes(download.subject)
        }
    }
}

extension KeptDownload {
    /// The properties by which it is selected: it has no tags.
    fileprivate var subject: CacheSubject {
        CacheSubject(key: key, url: url, isFoundByOthers: false, tags: [], identity: identity)
    }
}
