#if Tools
import ArgumentParser
import Diamond
import Foundation

/// Which entries a command works on, said in exactly one way.
struct SelectionOptions: ParsableArguments {
    @Argument(help: ArgumentHelp("The key, or enough of its beginning.", valueName: "KEY"))
    var key: String?

    @Option(help: ArgumentHelp("The entries whose requests had the tag.", valueName: "NAME"))
    var tag: String?

    @Option(help: ArgumentHelp("The entries of a host, whatever scheme and port.", valueName: "HOST"))
    var host: String?

    @Option(help: ArgumentHelp("The entries whose URLs, as list shows them, begin so.", valueName: "URL"))
    var prefix: String?

    @Option(help: ArgumentHelp("The entries that were asked for on behalf of an identity.", valueName: "NAME"))
    var identity: String?

    @Option(help: ArgumentHelp("The entries stored or last confirmed longer ago: 90s, 15m, 36h, 7d.", valueName: "AGE"))
    var olderThan: Age?

    @Flag(help: "Every entry.")
    var all = false

    private var texts: [String?] { [key, tag, host, prefix, identity] }

    func validate() throws {
        let ways = texts.count { $0 != nil } + (olderThan == nil ? 0 : 1) + (all ? 1 : 0)
        let choice = "KEY, --tag, --host, --prefix, --identity, --older-than or --all"
        guard ways > 0 else { throw ValidationError("say which entries: give one of \(choice)") }
        guard ways == 1 else { throw ValidationError("say which entries in one way: give only one of \(choice)") }
        // An empty beginning would be that of everything.
        guard !texts.contains("") else { throw ValidationError("an empty name selects nothing: give it, or --all") }
    }

    /// Does something to the entries of a store that are meant, or only counts them.
    ///
    /// - Returns: how many there were.
    func apply(
        to store: StoreOptions,
        _ body: (Cache, CacheSelection) async throws(CacheError) -> Int
    ) async throws -> Int {
        let cache = try store.openCache()
        let selection = try selection(in: cache)
        if selection.needsKey { try store.refuseLocked(cache) }
        do throws(CacheError) { return try await body(cache, selection) } catch { throw Failure.report(error) }
    }

    /// A key has to be there; of everything else there may be none.
    private func selection(in cache: Cache) throws -> CacheSelection {
        if let key { return .key(try KeyArgument(key).find(in: cache).key) }
        return named ?? .all
    }

    private var named: CacheSelection? {
        let now = Date().milliseconds
        return tag.map { .tag($0) } ?? host.map { .host($0) } ?? prefix.map { .url(prefix: $0) }
            ?? identity.map { .identity($0) } ?? olderThan.map { .stored(before: now - $0.milliseconds) }
    }
}
#endif
