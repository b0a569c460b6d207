#if Tools
import ArgumentParser
import Diamond
import DiamondSQLite
import Foundation

struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Stores the responses of an archive or a HAR file, with the age that they have by now.",
        discussion: """
            Of HAR 1.2, stores what a cache may store, as send does, and sends nothing. Leaves out other responses, \
            requests that are not GET or QUERY, and exchanges with masked parts. Ignores request fields that only \
            browsers add, such as Cookie and Sec-Fetch-Mode. A newer response in the store stays.

            Of an archive by 'cachectl export --archive', stores each entry as it was, when its checksum matches. \
            Leaves out those that are not newer than the store's, those that are too large, and those for requests \
            with credentials if another store was archived: no request there has their keys. A damaged archive ends \
            the import with exit code 1. What was stored before stays, and the import of a sound copy adds the rest.

            EXAMPLE
              cachectl import cities.har --store /tmp/store
            """
    )

    @OptionGroup var store: StoreOptions

    @Argument(
        help: ArgumentHelp("An archive or a HAR file, or - for standard input.", valueName: "FILE"), completion: .file()
    )
    var file: String

    @Flag(help: .quiet)
    var quiet = false

    private static let form = "an archive, or a HAR file that a browser or export has written"

    func run() async throws {
        let reader = try ArchiveReader(file, expecting: Self.form)
        let nothing = { "nothing was stored" }
        if let header = try await reader.reporting({ try reader.header(of: .cache) }, outcome: nothing) {
            return try await store(reader, header)
        }
        try await store(exchanges(in: try await reader.reporting({ try reader.rest() }, outcome: nothing)))
    }

    private func store(_ reader: ArchiveReader, _ header: ArchiveHeader) async throws {
        let engine = try engine(sendingBy: ArchiveTransport())
        guard let cache = engine.cache else { throw Failure.noStore }
        let failure = Guarded<String?>(nil)
        let evicted = Guarded(0)
        let observation = engine.activity.observe { event in
            switch event {
            case .cacheFailed(let reason): failure.withLock { $0 = $0 ?? reason }
            case .evicted(let count): evicted.withLock { $0 += count }
            default: break
            }
        }
        var archive = ArchiveImport(reader, header, into: cache)
        let progress = Progress("entries", isQuiet: quiet || store.json)
        try await reader.reporting {
            try await engine.closing { try await archive.run() }
        } outcome: {
            "\(Quantity.entries(archive.stored)) stored before"
        }
        withExtendedLifetime(observation) {}
        progress.end()
        if let reason = failure.withLock({ $0 }) { throw Failure.report(Failure.noStore, reason) }
        show(archive.stored, of: archive.stored + archive.leftOut, evicted: evicted.withLock(\.self))
    }

    private func store(_ exchanges: [ImportedExchange]) async throws {
        let transport = ArchiveTransport()
        let engine = try engine(sendingBy: transport)
        let stored = Guarded(0)
        let observation = engine.activity.observe { event in
            if case .stored = event { stored.withLock { $0 += 1 } }
        }
        let progress = Progress("exchanges", of: exchanges.count, isQuiet: quiet || store.json)
        var unusable = 0
        for (index, exchange) in exchanges.enumerated() {
            Progress.update(index)
            guard let request = exchange.storableRequest, let answer = exchange.answer(at: Date()) else {
                unusable += 1
                continue
            }
            guard await !hasNewer(request, than: answer, in: engine) else { continue }
            transport.set(answer)
            // An error status is an error, and may be stored.
            _ = try? await engine.send(request)
        }
        await engine.close()
        withExtendedLifetime(observation) {}
        progress.end()
        show(stored.withLock { $0 }, of: exchanges.count)
        guard unusable > 0 else { return }
        let remedy = "export with --with-secrets"
        Output.note("\(unusable) left out: not GET or QUERY, or a part is missing, or masked: \(remedy)")
    }

    /// Whether the store has a response that is newer by more than a second: ages have no fractions.
    private func hasNewer(_ request: Request, than answer: TransportResponse, in engine: Engine) async -> Bool {
        var request = request
        request.cache = .cacheOnly
        let result = await engine.response(to: request)
        let stored = if case .failure(let error) = result { error.response } else { try? result.get() }
        guard let age = stored?.age, let imported = answer.headers[.age].flatMap({ Int64($0) }) else { return false }
        return age + .seconds(1) < .seconds(imported)
    }

    private func engine(sendingBy transport: ArchiveTransport) throws -> Engine {
        let engine = Engine(connecting: try configuration(sendingBy: transport))
        if let failure = engine.cacheFailure { throw failure }
        return engine
    }

    private func configuration(sendingBy transport: ArchiveTransport) throws -> Engine.Configuration {
        var configuration = try store.configuration()
        configuration.transport = transport
        configuration.redirectLimit = 0
        // A new store has no limit: an archive may be larger than the default one.
        configuration.diskCapacity = .max
        if let cache = try store.findCache(seal: configuration.seal) {
            try store.refuseLocked(cache)
            configuration.diskCapacity = Cache.defaultDiskCapacity
            configuration.useCapacity(of: cache)
        }
        return configuration
    }

    private func exchanges(in data: Data) throws -> [ImportedExchange] {
        do {
            return try JSONDecoder().decode(ImportedExchange.Archive.self, from: data).log.entries
        } catch {
            let name = file == "-" ? "standard input" : file
            throw Failure.report(Failure.usage, "\(name) is no archive: give \(Self.form)")
        }
    }

    private func show(_ count: Int, of total: Int, evicted: Int = 0) {
        guard !store.json else {
            let form: JSONObject = [
                "stored": count, "leftOut": total - count, "evicted": evicted > 0 ? evicted : nil,
            ]
            return Output.json(form)
        }
        let rest = total > count ? ", \(total - count) left out" : ""
        Output.line("stored \(Quantity.entries(count))\(rest)")
        guard evicted > 0 else { return }
        Output.note("\(Quantity.entries(evicted)) evicted, to keep the store within the limit of its programs")
    }
}
#endif
