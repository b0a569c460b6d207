#if Tools
import ArgumentParser
import Diamond
import DiamondInspection
import Foundation

struct Explain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Explains what is stored for a request, and what the next send would do. Sends nothing.",
        discussion: """
            Prints each stored response, part and variant with its age and lifetime, and the clause of the RFC that \
            decides. The request is resolved as send resolves it. For the store of a proxy, add --http, and --shared \
            unless the proxy runs with --private.

            EXAMPLE
              cachectl explain https://api.example.com/items -H 'Cache-Control: max-age=60'
            """
    )

    @OptionGroup var store: StoreOptions
    @OptionGroup var options: RequestOptions

    @Flag(help: "Explain for a shared cache.")
    var shared = false

    @Flag(help: "Use method and URI as the key, and Vary for variants, as the proxy does.")
    var http = false

    func run() async throws {
        let cache = try store.openCache()
        try store.refuseLockedEntries(in: cache)
        var configuration = try store.configuration()
        configuration.useCapacity(of: cache)
        configuration.cacheKind = shared ? .shared : .private
        configuration.identityPreset = http ? .http : .selectingHeaders
        let engine = Engine(configuration)
        let explanation = await Self.explain(try options.request(), by: engine, in: cache)
        await engine.close()
        show(try explanation.get())
    }

    private static func explain(
        _ request: Request,
        by engine: Engine,
        in cache: Cache
    ) async -> Result<CacheExplanation, any Error> {
        do {
            return .success(
                try await CacheExplanation(of: request, by: engine, in: engine.cache ?? cache, at: Date().milliseconds))
        } catch let error as ConnectionError {
            return .failure(Failure.report(error))
        } catch let error as CacheError {
            return .failure(Failure.report(error))
        } catch {
            return .failure(error)
        }
    }

    private func show(_ explanation: CacheExplanation) {
        guard !store.json else { return Output.json(explanation) }
        Output.line("key         \(explanation.key ?? "none")")
        Output.line("url         \(explanation.url)")
        if explanation.stored.isEmpty { Output.line("stored      nothing") }
        for entry in explanation.stored { show(entry) }
        Output.line("next        \(explanation.next)")
        Output.line("because     \(explanation.reason) (\(explanation.clause))")
    }

    private func show(_ entry: CacheExplanation.Entry) {
        let lifetime = entry.lifetime.map { "\($0) s" } ?? "none"
        let freshness = entry.freshFor > 0 ? "fresh for \(entry.freshFor) s" : "stale"
        Output.line(
            "stored      \(entry.key.prefix(12)), status \(entry.status)\(entry.isSelected ? ", selected" : "")")
        if let part = entry.part { Output.line("  part      \(part)") }
        for line in entry.vary { Output.line("  vary      \(line)") }
        Output.line("  age       \(entry.age) s: \(entry.ageSource)")
        Output.line("  lifetime  \(lifetime), from \(entry.lifetimeSource); \(freshness)")
    }
}
#endif
