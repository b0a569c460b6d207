#if Tools
import ArgumentParser
import Diamond
import DiamondInspection
import Foundation
import HTTPTypes

struct Explain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explains what is stored for a request, and what the next send would do.",
        discussion: """
            Prints each stored response, part and variant with its age and lifetime, and for each decision the clause \
            of the RFC and the field that decide. Lists the entries of the same URL under other keys: - marks what \
            only the request has, + what only the entry has. Sends nothing without --send. With --send, sends the \
            request, and says why its response was or was not stored.

            The request is resolved as send resolves it. For the store of a proxy, add --http, and --shared unless \
            the proxy runs with --private. The URL then has the server of --origin, and its target counts byte for \
            byte. In place of a request, a key of list explains its entry.

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

    @Flag(help: "Send the request first, without following redirects.")
    var send = false

    func run() async throws {
        if let key = options.key { return try explain(key: key) }
        let cache = send ? try store.findCache(seal: try store.sealing.seal()) : try store.openCache()
        if let cache { try store.refuseLockedEntries(in: cache) }
        let request = try options.request()
        let engine = Engine(connecting: try configuration(for: cache))
        engine.cache?.isInspecting = !send
        show(try await engine.closing { try await explain(request, by: engine) }, isOfRequest: true)
    }

    private func configuration(for cache: Cache?) throws -> Engine.Configuration {
        var configuration = try store.configuration()
        if let cache { configuration.useCapacity(of: cache) }
        if http {
            configuration.makeGateway(width: 1)
            configuration.transportSettings.proxy = .none
        }
        configuration.cacheKind = shared ? .shared : .private
        configuration.redirectLimit = 0
        return configuration
    }

    private func explain(_ request: Request, by engine: Engine) async throws -> CacheExplanation {
        let forwarded = http ? try ForwardedRequest(request) : nil
        let request = forwarded?.request ?? request
        let sent = send ? try await Self.response(to: request, target: forwarded?.target, by: engine) : nil
        await engine.cache?.flush()
        return try await CacheExplanation(of: request, by: engine, in: engine.cache, after: sent, at: .now)
    }

    /// - Parameter target: the target that a proxy sends; `nil` for a request of an app.
    private static func response(
        to request: Request, target: String?, by engine: Engine
    ) async throws(ConnectionError) -> SentResponse {
        guard let target else {
            let response = try await engine.send(request)
            return SentResponse(head: response, bodySize: response.body.count)
        }
        let client = DiscardingClient()
        try await engine.forward(request, target: target, upload: nil, to: client)
        return await client.response
    }

    private func explain(key: KeyArgument) throws {
        guard !send, !options.changesRequest else {
            throw ValidationError(
                "a key stands for its stored request: leave --send and the other options of the request out")
        }
        let cache = try store.openCache()
        try store.refuseLockedEntries(in: cache)
        let listing = try key.find(in: cache)
        let targets = Engine.Configuration(store: nil).targetedFields.compactMap { HTTPField.Name($0) }
        let explanation = try CacheExplanation(of: listing, in: cache, targets: targets, at: .now)
        guard let explanation else {
            throw Failure.report(Failure.damaged, "the entry cannot be read: send its request again")
        }
        show(explanation, isOfRequest: false)
    }
}

extension Explain {
    /// - Parameter isOfRequest: whether the options may be wrong for what is stored.
    private func show(_ explanation: CacheExplanation, isOfRequest: Bool) {
        guard !store.json else { return Output.json(explanation) }
        Output.line("key         \(explanation.key ?? "none")")
        Output.line("url         \(explanation.url)")
        if let exchange = explanation.exchange { show(exchange) }
        if explanation.stored.isEmpty {
            let isHinted = explanation.key != nil && explanation.exchange == nil
            Output.line("stored      nothing\(isHinted ? "; --send shows whether a response is stored, and why" : "")")
        }
        for entry in explanation.stored { show(entry, isOfRequest: isOfRequest) }
        for other in explanation.others { show(other) }
        Output.line("next        \(explanation.next)")
        Output.line("because     \(explanation.reason) (\(explanation.clause))")
        if let field = explanation.field { Output.line("  field     \(field)") }
    }

    private func show(_ exchange: CacheExplanation.Exchange) {
        let outcome = exchange.isStored.map { $0 ? ", stored" : ", not stored" } ?? ""
        Output.line("exchange    \(exchange.status) from \(exchange.source)\(outcome)")
        if let reason = exchange.reason, let clause = exchange.clause {
            Output.line("  because   \(reason) (\(clause))")
        }
        if let field = exchange.field { Output.line("  field     \(field)") }
    }

    private func show(_ entry: CacheExplanation.Entry, isOfRequest: Bool) {
        let lifetime = entry.lifetime.map { "\($0) s" } ?? "none"
        let freshness = entry.freshFor > 0 ? "fresh for \(entry.freshFor) s" : "stale"
        Output.line(
            "stored      \(entry.key.prefix(12)), status \(entry.status)\(entry.isSelected ? ", selected" : "")")
        if isOfRequest, entry.isShared != shared {
            Output.line("  kind      \(entry.isShared ? "shared: add --shared" : "private: leave --shared out")")
        }
        if let part = entry.part { Output.line("  part      \(part)") }
        for line in entry.vary { Output.line("  vary      \(line)") }
        Output.line("  age       \(entry.age) s: \(entry.ageSource)")
        Output.line("  lifetime  \(lifetime), from \(entry.lifetimeSource); \(freshness) (\(entry.lifetimeClause))")
        if let field = entry.lifetimeField { Output.line("  field     \(field)") }
    }

    private func show(_ other: CacheExplanation.Other) {
        let hint = http ? "add --shared" : "add --http and --shared"
        let kind = other.isShared == shared ? "" : other.isShared ? ", shared: \(hint)" : ", private"
        Output.line("other key   \(other.key.prefix(12)), status \(other.status)\(kind)")
        for line in other.missing { Output.line("  - \(line)") }
        for line in other.additional { Output.line("  + \(line)") }
    }
}
#endif
