#if Tools
import ArgumentParser
import Diamond
import Foundation

#if Postgres && canImport(CDiamondPostgres)
import DiamondPostgres
#endif
#if Valkey
import DiamondValkey
#endif

/// The URL of a server that has a queue or a cache. It may have a password, and is never printed.
struct ServerURL {
    private enum Kind: String { case postgres = "Postgres", valkey = "Valkey" }

    static let form = "the URL of a server: write postgresql://USER@HOST/DATABASE or valkey://HOST"

    private static let kinds: [String: Kind] = [
        "postgresql": .postgres, "postgres": .postgres, "valkey": .valkey, "valkeys": .valkey, "valkey+unix": .valkey,
        "redis": .valkey, "rediss": .valkey, "redis+unix": .valkey,
    ]

    private let text: String
    private let kind: Kind

    /// - Returns: `nil` if the text does not begin as such a URL.
    init?(_ text: String) {
        guard let end = text.range(of: "://"), let kind = Self.kinds[text[..<end.lowerBound].lowercased()] else {
            return nil
        }
        self.text = text
        self.kind = kind
    }

    /// Throws a usage error for the value of an option that is no such URL. The message does not have it.
    static func check(_ value: String?, option: String) throws {
        guard let value, ServerURL(value) == nil else { return }
        throw ValidationError("\(option) is not \(form); --store names a directory")
    }

    /// Whether the URL has a password, as far as its parts can be told apart.
    var hasPassword: Bool {
        let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let names = parts.dropFirst().joined().split(separator: "&").compactMap {
            $0.split(separator: "=").first.map { String($0).removingPercentEncoding ?? "password" }
        }
        guard !names.contains(where: { $0.lowercased().hasSuffix("password") }) else { return true }
        let authority = parts[0].drop { $0 != ":" }.dropFirst(3)
        return authority.lastIndex(of: "@").map { authority[..<$0].contains(":") } ?? false
    }

    private func missing() -> any Error {
        let build = "swift build --traits default,Tools,\(kind.rawValue) --product cachectl"
        return Failure.report(
            Failure.usage, "this cachectl is built without the trait \(kind.rawValue), which this URL needs: \(build)")
    }

    // MARK: The queue

    /// - Parameter create: whether missing tables are created.
    func replayStorage(create: Bool) async throws -> any ReplayStorage {
        guard kind == .postgres else {
            throw Failure.report(Failure.usage, "Valkey has no queue: give the URL of a PostgreSQL server")
        }
        #if Postgres && canImport(CDiamondPostgres)
        return try await PostgresReplayStorage(try postgres(), create: create)
        #else
        throw missing()
        #endif
    }

    #if Postgres && canImport(CDiamondPostgres)
    private func postgres() throws -> PostgresAddress {
        do throws(RequestError) { return try PostgresAddress(text) } catch {
            throw Failure.report(Failure.usage, error.message)
        }
    }
    #endif

    // MARK: The cache

    /// The place of the cache for an engine.
    func cachePlace() throws -> CachePlace {
        switch kind {
        case .postgres:
            #if Postgres && canImport(CDiamondPostgres)
            // The programs that fill the cache limit it.
            return .postgres(try postgres(), capacity: .max)
            #else
            throw missing()
            #endif
        case .valkey:
            #if Valkey
            return .valkey(text)
            #else
            throw missing()
            #endif
        }
    }

    func cache(_ seal: AESGCMSeal?) throws -> Cache {
        guard let open = try cachePlace().open else { throw Failure.usage }
        return try Cache(onServer: open(), seal: seal)
    }
}
#endif
