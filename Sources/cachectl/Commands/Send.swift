#if Tools
import ArgumentParser
import Diamond
import Foundation
import HTTPTypes

struct Send: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sends a request through the cache and prints the response body.",
        discussion: """
            Prints the body to standard output, and status, size and source to standard error. Reads the secrets that \
            a request file names from the environment: github-token from GITHUB_TOKEN. If the request is queued \
            because it cannot be sent now, exits with 6. --json then prints the job's id.

            EXAMPLE
              cachectl send https://api.example.com/items -H 'Accept: text/csv' -p page=2
            """,
        aliases: ["get"]
    )

    @OptionGroup var store: StoreOptions
    @OptionGroup var server: QueueServerOption
    @OptionGroup var options: RequestOptions

    @Option(
        help: ArgumentHelp(
            "Use this proxy, or none (default: http_proxy, https_proxy, all_proxy and no_proxy).",
            valueName: "url|none"))
    var proxy: String?

    @Flag(help: "Print the body as it is, without layout and escapes, when the output is a terminal.")
    var raw = false

    func run() async throws {
        // SIGPIPE of a closed output would end the program before the response is stored.
        signal(SIGPIPE, SIG_IGN)
        let request = try options.request()
        let engine = Engine(connecting: try await configuration(for: request))
        let observation = engine.activity.observe { event in
            switch event {
            case .cacheFailed(let reason): Output.note("cachectl: not cached: \(reason)")
            case .unknownContentCoding(let coding, _):
                Output.note("cachectl: the body is not decoded: its Content-Encoding '\(coding)' is unknown")
            default: break
            }
        }
        if let failure = engine.cacheFailure { Output.note("cachectl: sent without a cache: \(failure.message)") }
        let outcome = await Self.send(request, with: engine)
        // Printed first, because closing the store may wait for another process that writes.
        let printing = Result { try print(outcome) }
        await engine.waitForRefreshes()
        await engine.close()
        withExtendedLifetime(observation) {}
        try printing.get()
    }

    /// Returns the engine's configuration.
    ///
    /// It has no store if the store is sealed with another key, or if its seals cannot be read: nothing may be written
    /// there unencrypted.
    private func configuration(for request: Request) async throws -> Engine.Configuration {
        var configuration = try store.configuration()
        try await setQueue(of: &configuration, for: request)
        if let proxy { configuration.transportSettings.proxy = proxy == "none" ? .none : .through(Proxy(proxy)) }
        let cache: Cache?
        var problem: String?
        do {
            cache = try store.findCache(seal: configuration.seal)
        } catch let error as CacheError {
            cache = nil
            problem = error.message
        }
        if let cache {
            configuration.useCapacity(of: cache)
            problem = try store.sealing.problem(of: cache)
        }
        if let problem {
            Output.note("cachectl: sent without a cache: \(problem)")
            configuration.store = nil
        }
        return configuration
    }

    /// A request that needs no queue is also sent if the server of the queue cannot be reached.
    private func setQueue(of configuration: inout Engine.Configuration, for request: Request) async throws {
        guard let server = try server.place(besides: store.place).server else { return }
        do {
            configuration.queue = .storage(try await server.replayStorage(create: true))
        } catch let error as ReplayError {
            guard request.replay.mode == .never else { throw error }
            Output.note("cachectl: sent without a queue: \(error.message)")
        }
    }

    private struct SendResult {
        var result: Result<Response, ConnectionError>
        var time: Duration
    }

    private static func send(_ request: Request, with engine: Engine) async -> SendResult {
        let start = ContinuousClock.now
        do throws(ConnectionError) {
            let response = try await engine.send(request)
            return SendResult(result: .success(response), time: ContinuousClock.now - start)
        } catch {
            return SendResult(result: .failure(error), time: ContinuousClock.now - start)
        }
    }

    private func print(_ outcome: SendResult) throws {
        switch outcome.result {
        case .failure(let error):
            if error.code == .queued, store.json { try Output.attempt(json: ["queued": error.jobID]) }
            throw Failure.reported(error)
        case .success(let response):
            if store.json {
                try Output.attempt(json: Self.form(of: response, time: outcome.time))
            } else {
                try show(response, time: outcome.time)
            }
            if response.source == .generated { throw Failure.nothingFound }
            if response.status.code >= 400 { throw Failure.errorStatus }
        }
    }

    private func show(_ response: Response, time: Duration) throws {
        try Output.body(response.body, isRaw: raw)
        Output.note("\(response.status.code), \(Self.origin(of: response)) in \(Quantity.time(time))")
    }

    private static func form(of response: Response, time: Duration) -> JSONObject {
        let body = String(validating: response.body, as: UTF8.self)
        return [
            "status": response.status.code, "source": response.source.rawValue,
            "milliseconds": Double(time.components.seconds) * 1000
                + Double(time.components.attoseconds / 1_000_000_000_000) / 1000,
            "headers": response.headers.map {
                [$0.name.rawName, $0.name == .setCookie ? "•••" : SecretNames.masked($0)]
            },
            "body": body, "base64": body == nil ? response.body.base64EncodedString() : nil,
        ]
    }

    private static func origin(of response: Response) -> String {
        let size = Quantity.bytes(Int64(response.body.count))
        switch response.source {
        case .network: return "\(size) from network"
        case .cache: return "\(size) from cache"
        case .revalidated: return "\(size) from cache, confirmed by the server"
        case .stale: return "\(size) from cache, stale"
        case .generated: return "nothing stored"
        }
    }
}
#endif
