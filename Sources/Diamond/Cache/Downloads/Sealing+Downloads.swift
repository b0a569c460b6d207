import Foundation

/// The rows of downloads in a sealed store. Everything that tells about the request is one sealed value.
extension Sealing {
    /// Returns a download as its row has it.
    func row(of download: KeptDownload) throws -> KeptDownload {
        let texts = [binding(of: download), download.url, download.target, download.contentID, download.identity ?? ""]
        let values = texts.map { Data($0.utf8) }
        let clear = (values + [download.headerBlock]).reduce(Data()) { $0 + framed($1) } + download.request
        var row = download
        row.keyID = seal.keyID
        row.headerBlock = try seal.seal(clear, context: context(.download, of: download.key))
        row.request = []
        row.url = ""
        row.target = download.path ?? ""
        row.identity = download.identity.map { _ in "" }
        return row
    }

    /// Returns the download of a row.
    ///
    /// - Throws: the errors of ``CacheSeal/open(_:keyID:context:)``.
    func download(of row: KeptDownload, sealedWith keyID: String) throws -> KeptDownload {
        var rest = try seal.open(row.headerBlock, keyID: keyID, context: context(.download, of: row.key))[...]
        func text() throws -> String { String(decoding: try nextFrame(of: &rest, keyID: keyID), as: UTF8.self) }
        guard try text() == binding(of: row) else {
            throw CacheSealError(.notAuthentic, "a download sealed with the key '\(keyID)' was changed: drop it")
        }
        var download = row
        download.url = try text()
        download.target = try text()
        download.contentID = try text()
        let identity = try text()
        download.identity = row.identity.map { _ in identity }
        download.headerBlock = try nextFrame(of: &rest, keyID: keyID)
        download.request = Array(rest)
        return download
    }

    /// The values of the row that are in clear and must not be changed.
    private func binding(of download: KeptDownload) -> String {
        "\(download.part) \(download.method) \(download.status) \(download.receivedAt.rawValue)"
    }
}
