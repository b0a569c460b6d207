#if Tools
import ArgumentParser
import Diamond
import Foundation
import Synchronization

struct Import: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Stores the responses of an HTTP archive (HAR 1.2), with the age that they have by now.",
        discussion: """
            Stores what a cache may store, as send does, and sends nothing. Leaves out other responses, requests that \
            are not GET or QUERY, and exchanges with masked parts. Ignores request fields that only browsers add, such \
            as Cookie and Sec-Fetch-Mode. A newer response in the store stays.

            EXAMPLE
              cachectl import cities.har --store /tmp/store
            """
    )

    @OptionGroup var store: StoreOptions

    @Argument(help: ArgumentHelp("A HAR file, or - for standard input.", valueName: "FILE"), completion: .file())
    var file: String

    @Flag(help: .quiet)
    var quiet = false

    func run() async throws {
        let exchanges = try exchanges()
        let transport = ArchiveTransport()
        let engine = Engine(connecting: try configuration(sendingBy: transport))
        if let failure = engine.cacheFailure { throw failure }
        let stored = Mutex(0)
        let observation = engine.activity.observe { event in
            if case .stored = event { stored.withLock { $0 += 1 } }
        }
        let progress = Progress("exchanges", of: exchanges.count, isQuiet: quiet || store.json)
        for (index, exchange) in exchanges.enumerated() {
            Progress.update(index)
            guard let request = exchange.storableRequest, let answer = exchange.answer(at: Date()) else { continue }
            transport.set(answer)
            // An error status is an error, and may be stored.
            _ = try? await engine.send(request)
        }
        await engine.close()
        withExtendedLifetime(observation) {}
        progress.end()
        show(stored.withLock { $0 }, of: exchanges.count)
    }

    private func configuration(sendingBy transport: ArchiveTransport) throws -> Engine.Configuration {
        var configuration = try store.configuration()
        configuration.transport = transport
        configuration.redirectLimit = 0
        if let cache = try store.findCache(seal: configuration.seal) {
            try store.refuseLocked(cache)
            configuration.useCapacity(of: cache)
        }
        return configuration
    }

    private func exchanges() throws -> [ImportedExchange] {
        let name = file == "-" ? "standard input" : file
        let data =
            file == "-"
            ? try? FileHandle.standardInput.readToEnd() ?? Data() : FileManager.default.contents(atPath: file)
        guard let data else { throw Failure.report(Failure.usage, "\(name) cannot be read: give a HAR file") }
        do {
            return try JSONDecoder().decode(ImportedExchange.Archive.self, from: data).log.entries
        } catch {
            throw Failure.report(Failure.usage, "\(name) is no HAR file: give one that a browser or export has written")
        }
    }

    private func show(_ count: Int, of total: Int) {
        guard !store.json else { return Output.json(["stored": count, "leftOut": total - count]) }
        let rest = total > count ? ", \(total - count) left out" : ""
        Output.line("stored \(Quantity.entries(count))\(rest)")
    }
}
#endif
