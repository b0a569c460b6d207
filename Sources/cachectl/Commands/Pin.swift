#if Tools
import ArgumentParser
import Diamond

struct Pin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Protects an entry from eviction until it is unpinned or purged.",
        discussion: """
            EXAMPLE
              cachectl pin 4f2a
            """
    )

    @OptionGroup var store: StoreOptions

    @Argument(help: ArgumentHelp("The key, or a unique prefix of it.", valueName: "KEY"))
    var key: String

    func run() async throws { try await Pinning(store: store, key: key).set(true) }
}

struct Unpin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unpin",
        abstract: "Allows a pinned entry to be evicted again.",
        discussion: """
            EXAMPLE
              cachectl unpin 4f2a
            """
    )

    @OptionGroup var store: StoreOptions

    @Argument(help: ArgumentHelp("The key, or a unique prefix of it.", valueName: "KEY"))
    var key: String

    func run() async throws { try await Pinning(store: store, key: key).set(false) }
}

/// The common part of ``Pin`` and ``Unpin``.
private struct Pinning {
    var store: StoreOptions
    var key: String

    func set(_ isPinned: Bool) async throws {
        let cache = try store.openCache()
        let listing = try KeyArgument(key).find(in: cache)
        guard try await cache.setPinned(isPinned, for: listing.key) else {
            let reason = cache.server.map { "\($0) keeps no pins, or has just evicted the entry \(key)" }
            throw Failure.report(
                Failure.nothingFound, "\(reason ?? "the entry \(key) was just removed"): see 'cachectl list'")
        }
        let found = listing.key.description
        Output.result(
            ["key": found, "pinned": isPinned],
            or: "\(isPinned ? "pinned" : "unpinned") \(found.prefix(12)) \(listing.url)".printable, isJSON: store.json)
    }
}
#endif
