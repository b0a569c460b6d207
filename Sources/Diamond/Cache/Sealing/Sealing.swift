import Crypto
package import Foundation

/// The sealing of entries: the values that are sealed, and the context that each is bound to.
///
/// URL and canonical form are one sealed value, the headers another, and each chunk of the body is one more. Each is
/// bound to its key, its column and its number. The headers are also bound to the row's status, times and sizes, to the
/// flags in ``Checksum/coveredFlags``, and to the checksums of the sealed body. So none of these can be changed, or
/// moved to another row. The values that are found by name are keyed digests: tags, identities, URLs and hosts. A
/// reader of the file sees which entries share one, but cannot guess and test the value.
package struct Sealing: Sendable {
    enum Column: String { case request, headers, body, download, tag, identity, url, host }

    let seal: any CacheSeal
    private let names: SymmetricKey

    /// - Parameter secret: the secret of the store.
    package init(_ seal: any CacheSeal, secret: Data) {
        self.seal = seal
        names = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret), info: Data("diamond names".utf8), outputByteCount: 32)
    }

    // MARK: Names

    func tag(_ name: String) -> String { digest(of: name, .tag) }

    func identity(_ identity: String) -> String { digest(of: identity, .identity) }

    /// Returns the text in place of a URL: the digest of its host and its own digest, so that one index finds it by
    /// either. Each has 128 bits, which cannot be made to collide without the secret.
    func url(_ url: String) -> String {
        let host = URLHost.of(url) ?? ""
        return "\(self.host(String(host)))/\(digest(of: url, .url).prefix(32))"
    }

    /// Returns the hash of a URL in ``ChangedNames/urls``.
    func urlHash(of url: String) -> Int64 { CacheTable.hash(of: self.url(url.withoutQuery)) }

    func host(_ host: String) -> String { String(digest(of: host, .host).prefix(32)) }

    private func digest(of name: String, _ column: Column) -> String {
        Hex.text(of: HMAC<SHA256>.authenticationCode(for: Data("\(column.rawValue) \(name)".utf8), using: names))
    }

    // MARK: Sealing

    /// Returns the sealed record of an entry.
    ///
    /// - Parameter chunks: the chunks of the body.
    func record(of entry: CacheEntry, chunks: [Data]) throws -> CacheRecord {
        let chunks = try chunks.enumerated().map { try self.sealed($1, key: entry.key, number: $0) }
        var sealed = entry
        sealed.request = try request(of: entry)
        sealed.url = url(entry.url)
        sealed.identity = entry.identity.map(identity)
        sealed.tags = Tags(entry.names.map(tag))
        sealed.isFoundByOthers = false
        sealed.groups = []
        sealed.stored.body = Data()
        var record = CacheRecord(sealed, seal: seal.keyID, chunks: chunks)
        record.entry.stored.headerBlock = try headers(
            of: entry.stored, key: entry.key, bodySize: record.body.size, digest: record.body.checksums.column)
        record.sealedURLHash = urlHash(of: entry.url)
        return record
    }

    private func request(of entry: CacheEntry) throws -> [UInt8] {
        let clear = framed(Data(entry.url.utf8)) + entry.request
        return Array(try seal.seal(clear, context: context(.request, of: entry.key)))
    }

    /// Returns the sealed headers of a response.
    func headers(of stored: StoredResponse, key: RequestKey, bodySize: Int64, digest: Data) throws -> Data {
        let facts = stored.facts(bodySize: bodySize, digest: digest)
        return try seal.seal(stored.headerBlock, context: context(.headers, of: key, facts: facts))
    }

    // MARK: Opening

    /// A row as it was read.
    struct Row {
        var keyID: String
        var request: Data
        var bodySize: Int64
        var digest: Data
    }

    /// Returns a response with headers and body opened; `nil` if the row is of another request.
    ///
    /// - Parameter request: the requested canonical form; `nil` for any.
    func open(
        _ stored: StoredResponse,
        row: Row,
        key: RequestKey,
        for request: [UInt8]?
    ) throws -> StoredResponse? {
        let form = try open(request: row.request, keyID: row.keyID, key: key).form
        guard request == nil || form == request else { return nil }
        var opened = stored
        opened.headerBlock = try openedHeaders(of: stored, row: row, key: key)
        opened.body = try openedBody(stored.body, row: row, key: key)
        return opened
    }

    /// An opened request.
    struct OpenedRequest {
        let url: String
        /// The canonical form.
        let form: [UInt8]
    }

    /// Opens a request.
    func open(request: Data, keyID: String, key: RequestKey) throws -> OpenedRequest {
        var rest = try seal.open(request, keyID: keyID, context: context(.request, of: key))[...]
        let url = try nextFrame(of: &rest, keyID: keyID)
        return OpenedRequest(url: String(decoding: url, as: UTF8.self), form: Array(rest))
    }

    /// Returns the opened headers of a response.
    func openedHeaders(of stored: StoredResponse, row: Row, key: RequestKey) throws -> Data {
        let facts = stored.facts(bodySize: row.bodySize, digest: row.digest)
        return try seal.open(
            stored.headerBlock, keyID: row.keyID, context: context(.headers, of: key, facts: facts))
    }

    private func openedBody(_ frames: Data, row: Row, key: RequestKey) throws -> Data {
        var rest = frames[...]
        var body = Data()
        var number = 0
        while !rest.isEmpty {
            let chunk = try nextFrame(of: &rest, keyID: row.keyID)
            let clear = try seal.open(chunk, keyID: row.keyID, context: context(.body, of: key, number: number))
            if body.isEmpty { body = clear } else { body += clear }
            number += 1
        }
        return body
    }

    // MARK: Contexts and frames

    /// Returns the context that a value is bound to.
    func context(_ column: Column, of key: RequestKey, number: Int = 0, facts: Data = Data()) -> Data {
        Data("diamond 1 \(column.rawValue) \(number)\n".utf8) + key.bytes + facts
    }

    /// Returns bytes after their length in four bytes.
    func framed(_ bytes: Data) -> Data {
        withUnsafeBytes(of: UInt32(bytes.count).littleEndian) { Data($0) } + bytes
    }

    /// Removes and returns the first frame.
    func nextFrame(of rest: inout Data.SubSequence, keyID: String) throws(CacheSealError) -> Data {
        let count = rest.prefix(4).enumerated().reduce(0) { $0 | Int($1.element) << (8 * $1.offset) }
        guard rest.count >= 4 + count else {
            throw CacheSealError(.notAuthentic, "a value sealed with the key '\(keyID)' is truncated: drop it")
        }
        defer { rest = rest.dropFirst(4 + count) }
        return Data(rest.dropFirst(4).prefix(count))
    }
}

extension StoredResponse {
    /// Returns the values of a row that are in clear and must not be changed.
    fileprivate func facts(bodySize: Int64, digest: Data) -> Data {
        let numbers: [Int64] = [
            Int64(status), storedAt.rawValue, initialAge, lifetime ?? -1,
            flags.intersection(Checksum.coveredFlags).rawValue,
            duration, bodySize,
        ]
        return numbers.withUnsafeBytes { Data($0) } + digest
    }
}
