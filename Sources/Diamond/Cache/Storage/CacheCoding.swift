import DiamondSQLite
import Foundation

/// The form of the entries in a store: compressed, sealed, or in clear.
struct CacheCoding: Sendable {
    /// The sealing; `nil` for a store in clear.
    let sealing: Sealing?
    /// Whether bodies of text are compressed.
    let compresses: Bool
    /// The name of the store in errors.
    let place: String

    /// The form of a store in clear.
    static let clear = CacheCoding(sealing: nil, compresses: false, place: "")

    /// Whether bodies and headers are neither compressed nor sealed.
    var isInClear: Bool { !compresses && sealing == nil }

    /// Returns the hash of a URL in memories and in changes (``ChangedNames/urls``). It is the same in every process
    /// with the store's secret. A reader of a sealed store alone cannot try out which URL it belongs to. URLs that
    /// differ only in their queries have the same hash, as in memory.
    func urlHash(of url: String) -> Int64 {
        sealing.map { $0.urlHash(of: url) } ?? CacheTable.hash(of: url.withoutQuery)
    }

    func sealed<Value>(_ body: () throws -> Value) throws(CacheError) -> Value {
        do { return try body() } catch { throw CacheError(SQLiteError(cannotSeal: error, path: place)) }
    }
}
