import DiamondSQLite
import Foundation

/// The texts of a hold, as its row has them: in clear, or sealed.
struct StoredHold {
    /// The name of the lane, key or identity; in a sealed queue the digest of a key or an identity. Names of lanes are
    /// in clear.
    var name: String
    /// The reason; empty in a sealed queue.
    var reason: String
    /// The sealed name and reason; `nil` in a queue in clear.
    var details: Data?

    init(name: String, reason: String, details: Data?) {
        self.name = name
        self.reason = reason
        self.details = details
    }

    init(_ hold: ReplayHold, reason: String, on connection: borrowing SQLiteConnection) throws(SQLiteError) {
        name = hold.storedName(on: connection)
        self.reason = reason
        guard let sealing = connection.sealing else { return }
        self.reason = ""
        // Texts can always be encoded.
        let texts = (try? JSONEncoder().encode([hold.name, reason])) ?? Data()
        details = try sealing.sealed(texts, .hold, of: "\(hold.kind) \(name)")
    }

    /// Replaces the stored texts by those that were sealed. Those that are not authentic stay as they are stored.
    ///
    /// - Returns: whether the texts were opened.
    @discardableResult
    mutating func open(kind: String, on connection: borrowing SQLiteConnection) throws(SQLiteError) -> Bool {
        guard let sealing = connection.sealing, let details,
            let bytes = try sealing.opened(details, .hold, of: "\(kind) \(name)"),
            let texts = try? JSONDecoder().decode([String].self, from: bytes), texts.count == 2
        else { return false }
        name = texts[0]
        reason = texts[1]
        return true
    }
}

extension ReplayHold {
    /// Returns the name as it is in its column.
    func storedName(on connection: borrowing SQLiteConnection) -> String {
        switch self {
        case .key(let key): connection.stored(key, .key)
        case .identity(let identity): connection.stored(identity, .identity)
        case .engine, .queue, .lane: name
        }
    }
}
