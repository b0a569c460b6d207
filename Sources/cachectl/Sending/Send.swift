#if Tools
import ArgumentParser
import Diamond
import Foundation
import HTTPTypes

struct Send: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Sends requests through the cache and prints the response body.",
        discussion: """
            Prints the body to standard output, and status, size and source to standard error. Reads the secrets that \
            a request file names from the environment: github-token from GITHUB_TOKEN. If a request is queued because \
            it cannot be sent now, exits with 6. --json then prints the job's id.

            A file has one request, an array of them, or one in each line. They are sent in order, until one fails, \
            and the body of the last one is printed. With --json, each prints a line. In a file, ${NAME} is the value \
            that an earlier request captured, or the variable of the environment. If it is missing, exits with 8, and \
            sends no request with it.

            Captures and assertions name a part of the response: status, duration (in milliseconds), source (network, \
            cache, revalidated or stale), body, header:NAME, link:RELATION, or a JSON Pointer. Assertions compare it: \
            ==, !=, <, <=, >, >=, contains, matches (a regular expression) or exists. If one fails, exits with 7. An \
            error status is no failure if an assertion is about the status.

            --repeat sends the requests many times, through the cache, too. Equal requests at the same time share an \
            attempt; with --policy noStore, each has its own. Prints how many answers came from the cache, how many \
            attempts were on the wire, and the latencies of the answers, also at Ctrl-C.

            FILE
              [{"url": "${HOST}/login", "method": "POST",
                "capture": {"token": "/access_token"}, "assert": ["status == 200"]},
               {"url": "${HOST}/me",
                "credentials": [{"prefix": "Bearer ", "secret": "token"}]}]

            EXAMPLE
              cachectl send https://api.example.com/items -H 'Accept: text/csv' -p page=2
            """,
        aliases: ["get"]
    )

    @OptionGroup var store: StoreOptions
    @OptionGroup var server: QueueServerOption
    @OptionGroup var options: RequestOptions

    @Option(
        name: .customLong("assert"),
        help: ArgumentHelp(
            "Exit with 7 if a response does not meet this condition; repeatable.", valueName: "CONDITION"))
    var conditions: [String] = []

    @Flag(help: "Answer only from the cache, also stale, and exit with 1 if nothing is stored.")
    var offline = false

    @Option(
        help: ArgumentHelp(
            "Queue requests that cannot be sent now: onFailure, or durable (on disk before the first attempt).",
            valueName: "MODE"),
        completion: .list(ReplayPolicy.Mode.allCases.filter { $0 != .never }.map(\.rawValue)))
    var replay: String?

    @Option(
        name: .customLong("repeat"),
        help: ArgumentHelp("Send the requests N times, and print latencies instead of bodies.", valueName: "N"),
        transform: Limit.init(argument:))
    var repetitions: Limit?

    @Option(
        help: ArgumentHelp("With --repeat: at most this many at the same time (default: 1).", valueName: "N"),
        transform: Limit.init(argument:))
    var concurrency: Limit?

    @Option(
        help: ArgumentHelp(
            "Use this proxy, or none (default: http_proxy, https_proxy, all_proxy and no_proxy).",
            valueName: "url|none"))
    var proxy: String?

    @Flag(help: "Print the body as it is, without layout and escapes, when the output is a terminal.")
    var raw = false

    func validate() throws {
        guard !offline || options.policy == nil else {
            throw ValidationError("--offline is the policy cacheOnly: leave --policy out")
        }
        guard !offline || replay == nil else { throw ValidationError("--offline sends nothing: leave --replay out") }
        guard concurrency == nil || repetitions != nil else {
            throw ValidationError("--concurrency is for --repeat: give both")
        }
        guard !raw || repetitions == nil else { throw ValidationError("--repeat prints no body: leave --raw out") }
        guard repetitions?.count ?? 1 <= 1_000_000, concurrency?.count ?? 1 <= 1000 else {
            throw ValidationError("--repeat must be 1000000 or less, and --concurrency 1000 or less")
        }
    }

    func run() async throws {
        // SIGPIPE of a closed output would end the program before the response is stored.
        signal(SIGPIPE, SIG_IGN)
        let sequence = try sequence()
        let engine = Engine(connecting: try await configuration(for: sequence))
        let messages = UniqueMessages()
        let observation = engine.activity.observe { event in
            switch event {
            case .cacheFailed(let reason): messages.print("not cached: \(reason)")
            case .unknownContentCoding(let coding, _):
                messages.print("the body is not decoded: its Content-Encoding '\(coding)' is unknown")
            default: break
            }
        }
        if let failure = engine.cacheFailure { Output.note("cachectl: sent without a cache: \(failure.message)") }
        var failure: (any Error)?
        var isInterrupted = false
        if let repetitions {
            let repetition = Repetition(count: repetitions.count, concurrency: concurrency?.count ?? 1)
            let summary = await repetition.run(sequence, with: engine)
            isInterrupted = summary.isInterrupted
            failure = self.failure(showing: summary)
        } else {
            failure = await self.failure(of: sequence, with: engine)
        }
        if !isInterrupted { await engine.waitForRefreshes() }
        await engine.close()
        withExtendedLifetime(observation) {}
        if let failure { throw failure }
    }

    private func sequence() throws -> RequestSequence {
        let mode = try replay.map { name throws(RequestError) in
            guard let mode = ReplayPolicy.Mode(rawValue: name), mode != .never else {
                throw RequestError(.malformedRequest, "--replay is neither onFailure nor durable: give one of them")
            }
            return mode
        }
        return try RequestSequence(
            options.source, assertions: conditions.map { try Assertion($0) }
        ) { [options, offline] request in
            var request = try options.changed(request)
            if let mode { request.replay.mode = mode }
            if offline {
                request.cache.mode = .cacheOnly
                request.replay = .never
            }
            return request
        }
    }

    /// Sends the requests and prints their results, because closing the store may wait for another process that writes.
    ///
    /// - Returns: the error that ends the command; `nil` if there is none.
    private func failure(of sequence: RequestSequence, with engine: Engine) async -> (any Error)? {
        do {
            return try await sequence.run(with: engine) { try show($0, of: sequence.steps.count) }
        } catch {
            return Failure.reported(error)
        }
    }

    /// Prints the summary, because the refreshes and the closing of the store may take longer.
    ///
    /// - Returns: the error that ends the command; `nil` if there is none.
    private func failure(showing summary: LoadSummary) -> (any Error)? {
        do {
            try store.json ? Output.attempt(json: summary.form, isLine: false) : Output.attempt(lines: summary.lines)
            return summary.code
        } catch {
            return error
        }
    }

    /// Returns the engine's configuration.
    private func configuration(for sequence: RequestSequence) async throws -> Engine.Configuration {
        var configuration = try store.configuration()
        // Requests of --repeat wait for each other only if the user says so.
        configuration.width = max(configuration.width, concurrency?.count ?? 1)
        configuration.originWidth = max(configuration.originWidth, concurrency?.count ?? 1)
        let needsQueue = replay != nil || sequence.steps.contains(where: \.isQueueable)
        try await setQueue(of: &configuration, isRequired: needsQueue)
        if let proxy { configuration.transportSettings.proxy = proxy == "none" ? .none : .through(Proxy(proxy)) }
        if let problem = try store.prepareToSend(&configuration) {
            Output.note("cachectl: sent without a cache: \(problem)")
        }
        return configuration
    }

    /// A request that needs no queue is also sent if the server of the queue cannot be reached. With --offline, the
    /// server is not asked.
    private func setQueue(of configuration: inout Engine.Configuration, isRequired: Bool) async throws {
        guard let server = try server.place(besides: store.place).server, !offline else { return }
        do {
            configuration.queue = .storage(try await server.replayStorage(create: true))
        } catch let error as ReplayError {
            guard !isRequired else { throw error }
            Output.note("cachectl: sent without a queue: \(error.message)")
        }
    }

    // MARK: Printing

    /// - Parameter count: the number of requests of the sequence.
    private func show(_ result: StepResult, of count: Int) throws {
        switch result.response {
        case .success(let response) where !store.json: try show(response, result: result, of: count)
        case .success(let response): try print(form(of: response, result: result), of: result, count: count)
        case .failure(let error):
            if store.json, count > 1 || result.isQueued {
                let form: JSONObject = ["queued": error.jobID, "error": result.isQueued ? nil : "\(error.code)"]
                try print(form, of: result, count: count)
            }
            Output.note("cachectl: \(count > 1 ? "request \(result.number): " : "")\(result.masked(error.message))")
        }
        for problem in result.problems { Output.note("cachectl: \(problem.message)") }
    }

    private func print(_ form: JSONObject, of result: StepResult, count: Int) throws {
        try Output.attempt(json: count > 1 ? result.form.adding(form) : form, isLine: count > 1)
    }

    private func show(_ response: Response, result: StepResult, of count: Int) throws {
        let isPrinted = result.number == count || result.code != nil
        if isPrinted, !result.hidesBody { try Output.body(response.body, isRaw: raw) }
        let place = count > 1 ? "\(result.number) \(result.request.method.rawValue) \(result.step.url): " : ""
        Output.note("\(place)\(response.status.code), \(Self.origin(of: response)) in \(Quantity.time(result.time))")
        if isPrinted, result.hidesBody { Output.note("cachectl: the body is not printed: values of it are captured") }
    }

    private func form(of response: Response, result: StepResult) -> JSONObject {
        let body = result.hidesBody ? nil : String(validating: response.body, as: UTF8.self)
        return [
            "status": response.status.code, "source": response.source.rawValue,
            "milliseconds": Quantity.milliseconds(result.time),
            "headers": response.headers.map {
                [$0.name.rawName, $0.name == .setCookie ? "•••" : result.masked($0)]
            },
            "body": body, "base64": body == nil && !result.hidesBody ? response.body.base64EncodedString() : nil,
            "captured": result.captured.isEmpty ? nil : result.captured,
            "problems": result.problems.isEmpty ? nil : result.problems.map(\.message),
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
