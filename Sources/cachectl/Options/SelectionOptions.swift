#if Tools
import ArgumentParser
import Diamond
import Foundation

/// The options that select entries. Exactly one is given.
struct SelectionOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("The key, or a unique prefix of it.", valueName: "KEY"))
    var key: String?

    @Option(help: ArgumentHelp("Entries whose requests had this tag.", valueName: "NAME"))
    var tag: String?

    @Option(help: ArgumentHelp("Entries of a host, whatever the scheme and port.", valueName: "HOST"))
    var host: String?

    @Option(help: ArgumentHelp("Entries whose URLs in normal form have this prefix.", valueName: "URL"))
    var prefix: String?

    @Option(help: ArgumentHelp("Entries of an identity.", valueName: "NAME"))
    var identity: String?

    @Option(
        help: ArgumentHelp(
            "Entries stored or revalidated longer ago than this, such as 90s, 15m, 36h or 7d.", valueName: "AGE"))
    var olderThan: Age?

    @Flag(help: "All entries.")
    var all = false

    private var texts: [String?] { [key, tag, host, prefix, identity] }

    func validate() throws {
        let ways = texts.count { $0 != nil } + (olderThan == nil ? 0 : 1) + (all ? 1 : 0)
        let choice = "KEY, --tag, --host, --prefix, --identity, --older-than or --all"
        guard ways > 0 else { throw ValidationError("say which entries: give one of \(choice)") }
        guard ways == 1 else { throw ValidationError("give only one of \(choice)") }
        // An empty prefix would select everything.
        guard !texts.contains("") else { throw ValidationError("an empty name selects nothing: give a name, or --all") }
    }

    /// Passes a store's cache and the selection to a closure.
    ///
    /// - Returns: The number of entries that the closure returns.
    func apply(
        to store: StoreOptions,
        _ body: (Cache, CacheSelection) async throws(CacheError) -> Int
    ) async throws -> Int {
        let cache = try store.openCache()
        let selection = try selection(in: cache)
        if selection.needsKey { try store.refuseLocked(cache) }
        return try await body(cache, selection)
    }

    /// Returns the selection. Throws if a key has no entry. Other options may select none.
    private func selection(in cache: Cache) throws -> CacheSelection {
        if let key { return .key(try KeyArgument(key).find(in: cache).key) }
        return named ?? .all
    }

    private var named: CacheSelection? {
        return tag.map { .tag($0) } ?? host.map { .host($0) } ?? prefix.map { .url(prefix: $0) }
            ?? identity.map { .identity($0) } ?? olderThan.map { .stored(before: WallTime.now - $0.milliseconds) }
    }
}

/// A cache key from the command line: 64 hexadecimal digits, or a unique prefix of them.
struct KeyArgument {
    private let digits: String

    init(_ digits: String) { self.digits = digits }

    /// Returns the only entry whose key begins with the digits.
    func find(in cache: Cache) throws -> CacheListing {
        guard !digits.isEmpty else { throw nothing("the key is empty: look it up with 'cachectl list'") }
        let found = try cache.list(beginning: digits)
        guard let listing = found.first else {
            throw nothing("no entry's key begins with '\(digits)': look it up with 'cachectl list'")
        }
        guard found.count == 1 else { throw nothing("several keys begin with '\(digits)': give more of it") }
        return listing
    }

    private func nothing(_ message: String) -> ExitCode { Failure.report(Failure.nothingFound, message) }
}
#endif
