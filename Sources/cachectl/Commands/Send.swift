#if Tools
import ArgumentParser
import Diamond
import Foundation
import HTTPTypes

struct Send: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Sends a request: the body to standard output, where it came from to standard error.",
        discussion: """
            A secret that a request file names is taken from the environment: github-token from GITHUB_TOKEN. A request that \
            is kept in the queue because it could not be sent now ends with 6; with --json, the job's id is printed.
            """,
        aliases: ["get"]
    )

    @OptionGroup var store: StoreOptions
    @OptionGroup var options: RequestOptions

    @Option(
        help: ArgumentHelp(
            "Go through this proxy, or none; by default as http_proxy, https_proxy, all_proxy and no_proxy say.",
            valueName: "url|none"))
    var proxy: String?

    @Flag(help: "Print the body byte for byte on a terminal, too, which may act on what is in it.")
    var raw = false

    func run() async throws {
        // Otherwise a closed output would end the program before the response is stored.
        signal(SIGPIPE, SIG_IGN)
        let request = try options.request()
        let engine = Engine(try configuration())
        let observation = engine.activity.observe { event in
            switch event {
            case .cacheFailed(let reason): Output.note("cachectl: not cached: \(reason)")
            case .contentCodingKept(let coding, _):
                Output.note("cachectl: the body is as it came: its Content-Encoding, '\(coding)', is not known")
            default: break
            }
        }
        if let failure = engine.cacheFailure { Output.note("cachectl: sent without a cache: \(failure.message)") }
        let outcome = await Self.send(request, with: engine)
        // Before the store is closed, which may wait for another process that writes.
        let printing = Result { try print(outcome) }
        await engine.settle()
        await engine.close()
        withExtendedLifetime(observation) {}
        try printing.get()
    }

    /// Returns the configuration, without a store where that is sealed with another key, or where that cannot be told:
    /// nothing is written into it in clear.
    private func configuration() throws -> Engine.Configuration {
        var configuration = try store.configuration()
        if let proxy { configuration.transportSettings.proxy = proxy == "none" ? .none : .through(Proxy(proxy)) }
        let cache: Cache?
        var complaint: String?
        do throws(CacheError) {
            cache = try store.findCache(configuration.seal)
        } catch {
            (cache, complaint) = (nil, error.message)
        }
        if let cache {
            configuration.takeBound(of: cache)
            complaint = try store.sealing.complaint(of: cache)
        }
        if let complaint {
            Output.note("cachectl: sent without a cache: \(complaint)")
            configuration.store = nil
        }
        return configuration
    }

    private typealias Outcome = (result: Result<Response, ConnectionError>, time: Duration)

    private static func send(_ request: Request, with engine: Engine) async -> Outcome {
        let start = ContinuousClock.now
        do throws(ConnectionError) {
            let response = try await engine.send(request)
            return (.success(response), ContinuousClock.now - start)
        } catch {
            return (.failure(error), ContinuousClock.now - start)
        }
    }

    private func print(_ outcome: Outcome) throws {
        switch outcome.result {
        case .failure(let error):
            if error.code == .queued, store.json { try Output.attempt(json: ["queued": error.jobID]) }
            throw Failure.report(error)
        case .success(let response):
            if store.json {
                try Output.attempt(json: SentResponse(response, outcome.time))
            } else {
                try show(response, outcome.time)
            }
            if response.source == .generated { throw Failure.nothingFound }
            if response.status.code >= 400 { throw Failure.errorStatus }
        }
    }

    private func show(_ response: Response, _ time: Duration) throws {
        try Output.body(response.body, isRaw: raw)
        Output.note("\(response.status.code), \(Self.origin(of: response)) in \(Quantity.time(time))")
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

/// The form of `send --json`.
private struct SentResponse: Encodable {
    var status: Int
    var source: String
    var milliseconds: Double
    var headers: [[String]]
    /// The body as text, or in base64 where it is not UTF-8.
    var body: String?
    var base64: String?

    init(_ response: Response, _ time: Duration) {
        status = response.status.code
        source = response.source.rawValue
        milliseconds =
            Double(time.components.seconds) * 1000 + Double(time.components.attoseconds / 1_000_000_000_000) / 1000
        headers = response.headers.map { [$0.name.rawName, $0.name == .setCookie ? "•••" : SecretNames.masked($0)] }
        body = String(validating: response.body, as: UTF8.self)
        base64 = body == nil ? response.body.base64EncodedString() : nil
    }
}
#endif
