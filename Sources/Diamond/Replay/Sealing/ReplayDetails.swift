import DiamondSQLite
public import Foundation

/// The values of a job that are shown, or found by a filter, and decide nothing. A storage may write them as JSON.
public struct ReplayDetails: Codable, Hashable, Sendable {
    /// The URL for display.
    public package(set) var url: String
    /// The URL's host, in lower case, with its port if the URL names one.
    public package(set) var host: String
    /// The identity on whose behalf the request is sent; `nil` for none.
    public package(set) var identity: String?
    /// The key whose jobs are sent in order; `nil` for none.
    public package(set) var orderingKey: String?
    /// The tags as a JSON array.
    public package(set) var tags: String
    /// The metadata as a JSON object.
    public package(set) var metadata: String
    package var kind: String?
    package var call: String?
    package var idempotencyKey: String?

    /// Creates the details of a draft.
    public init(_ draft: ReplayDraft) {
        url = draft.url
        host = draft.host
        identity = draft.identity
        orderingKey = draft.policy.orderingKey
        // Most requests have neither tags nor metadata.
        tags = draft.tags.isEmpty ? "[]" : ReplayTable.text(.array(draft.tags.map { .string($0) }))
        metadata = draft.policy.metadata.isEmpty ? "{}" : ReplayTable.text(.object(draft.policy.metadata))
        kind = draft.policy.kind
        call = draft.policy.call
        idempotencyKey = draft.idempotencyKey
    }

    /// Puts the ids of objects into a request that has their local ids, and into what is shown of it.
    ///
    /// - Parameters:
    ///   - ids: the ids, by local id.
    ///   - request: the request (``ReplayDraft/request``).
    /// - Returns: the new request; `nil` if this program cannot decode the old one.
    public mutating func assign(_ ids: [String: JSONValue], in request: Data) -> Data? {
        guard let new = (try? Request(json: request))?.replacing(ids), let json = try? new.json() else { return nil }
        url = url.replacing(inURL: ids)
        metadata = ReplayTable.text(.object(new.replay.metadata))
        return json
    }

    /// The tags.
    var tagNames: [String] { (try? JSONDecoder().decode([String].self, from: Data(tags.utf8))) ?? [] }

    /// The metadata.
    var metadataMembers: [String: JSONValue] {
        (try? JSONDecoder().decode([String: JSONValue].self, from: Data(metadata.utf8))) ?? [:]
    }

    /// Creates the details of a job whose sealed ones are not authentic, or whose row is in clear in a sealed queue.
    package init() {
        url = "•••"
        host = "•••"
        tags = "[]"
        metadata = "{}"
    }
}

/// The values of a job's request, as its row has them: in clear, or sealed.
struct StoredDetails {
    /// The values of the columns. In a sealed queue, digests, and empty values.
    var columns: ReplayDetails
    var uniqueKey: Data?
    var request: Data
    /// The sealed ``ReplayDetails``; `nil` in a queue in clear.
    var sealed: Data?

    /// - Parameters:
    ///   - uniqueKey: the digest of the unique name, without the queue's secret.
    ///   - request: the request in its written form.
    ///   - id: the id of the job.
    init(
        _ details: ReplayDetails, uniqueKey: Data?, request: Data, of id: Int64,
        on connection: borrowing SQLiteConnection
    ) throws(SQLiteError) {
        columns = details
        self.uniqueKey = uniqueKey
        self.request = request
        guard let sealing = connection.sealing else { return }
        self.uniqueKey = uniqueKey.map { sealing.digest(of: $0, .unique) }
        try seal(details, of: id, by: sealing)
    }

    private mutating func seal(
        _ details: ReplayDetails, of id: Int64, by sealing: ReplaySealing
    ) throws(SQLiteError) {
        // Texts can always be encoded.
        sealed = try sealing.sealed((try? JSONEncoder().encode(details)) ?? Data(), .details, of: "\(id)")
        request = try sealing.sealed(request, .request, of: "\(id)")
        columns.url = String(details.url.prefix { $0 != "/" }) + "//"
        columns.host = sealing.digest(of: details.host, .host)
        columns.identity = details.identity.map { sealing.digest(of: $0, .identity) }
        columns.orderingKey = details.orderingKey.map { sealing.digest(of: $0, .key) }
        columns.tags = ReplayTable.text(.array(details.tagNames.map { .string(sealing.digest(of: $0, .tag)) }))
        columns.metadata = "{}"
        columns.kind = nil
        columns.call = nil
        columns.idempotencyKey = nil
    }
}

extension ReplaySealing {
    /// Opens the details of a job.
    ///
    /// - Parameter sealed: the sealed details; `nil` if the row has none.
    func details(_ sealed: Data?, of id: Int64) throws(SQLiteError) -> ReplayDetails {
        try authenticDetails(sealed, of: id) ?? ReplayDetails()
    }

    /// Opens the details of a job; `nil` if they are not authentic.
    func authenticDetails(_ sealed: Data?, of id: Int64) throws(SQLiteError) -> ReplayDetails? {
        guard let sealed, let bytes = try opened(sealed, .details, of: "\(id)") else { return nil }
        return try? JSONDecoder().decode(ReplayDetails.self, from: bytes)
    }
}
