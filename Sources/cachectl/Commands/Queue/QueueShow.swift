#if Tools
import ArgumentParser
import Diamond
import DiamondCurlCommand
import Foundation

struct QueueShow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Prints a job: its state, its request, and its failed attempts.",
        discussion: """
            A job has the names of its secrets, not their values. In a curl command they are shell variables: \
            $GITHUB_TOKEN for github-token.

            EXAMPLE
              cachectl queue show 42 --as-curl
            """
    )

    @OptionGroup var place: QueueOptions

    @Argument(help: ArgumentHelp("The job's id.", valueName: "ID"))
    var id: Int64

    @Flag(help: "Print only the request, as a curl command.")
    var asCurl = false

    @Flag(help: "Print only the request, as JSON that add and edit read.")
    var asRequest = false

    func validate() throws {
        guard !asCurl || !asRequest else { throw ValidationError("give one of --as-curl and --as-request") }
        guard !asCurl || !place.json else { throw ValidationError("--as-curl prints no JSON: leave --json out") }
    }

    func run() async throws {
        let queue = try await place.openQueue()
        guard let job = try queue.job(id) else {
            throw ReplayError(.noJob, "there is no job \(id): see 'cachectl queue list'")
        }
        let failures = try queue.failures(of: id)
        let awaited = try job.awaitedJobs.compactMap { try queue.job($0) }
        let request = try request(in: queue)
        if asCurl || asRequest {
            guard let request else { throw Failure.damaged }
            return try show(request, idempotencyKey: job.idempotencyKey)
        }
        show(JobText(job: job, request: request, failures: failures, awaited: awaited))
        if request == nil { throw Failure.damaged }
    }

    /// Returns the job's request. If it cannot be read, prints why and returns `nil`.
    private func request(in queue: ReplayQueue) throws -> Request? {
        do throws(ReplayError) {
            guard let request = try queue.request(of: id) else {
                throw ReplayError(.badRequest, "job \(id) has no request: discard it")
            }
            return request
        } catch {
            guard error.code == .badRequest else { throw error }
            Output.note("cachectl: the request cannot be read: \(error.message)")
            return nil
        }
    }

    private func show(_ request: Request, idempotencyKey key: String?) throws {
        if asCurl { Output.line(try request.curlCommand(naming: key)) } else { Output.json(request) }
    }

    private func show(_ text: JobText) {
        guard !place.json else { return Output.json(text.form) }
        for line in text.lines { Output.line(line) }
        if !text.failures.isEmpty {
            Output.lines("\nATTEMPTS")
            Output.table(text.attempts)
        }
    }
}

extension Request {
    /// Returns a curl command with the value of the idempotency key. The value is not secret, and with another one the
    /// server would process the request again.
    fileprivate func curlCommand(naming key: String?) throws(RequestError) -> String {
        let command = try curlCommand()
        guard let key, key.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }) else {
            return command
        }
        return command.replacing("\"Idempotency-Key: $IDEMPOTENCY_KEY\"", with: "'Idempotency-Key: \(key)'")
    }
}

/// A job as text for people.
private struct JobText {
    let job: ReplayJob
    let request: Request?
    let failures: [ReplayFailure]
    /// The jobs that create the objects whose ids the job waits for.
    let awaited: [ReplayJob]

    var form: JSONObject { ["job": job.form, "request": request, "failures": failures.map(\.form)] }

    var lines: [String] { facts.map { "\($0.padding(toLength: 12, withPad: " ", startingAt: 0))\($1)" } + written }

    private var facts: [(String, String)] {
        let rare: [(String, String?)] = [
            ("waits for", awaited.isEmpty ? nil : awaited.map(\.description).joined(separator: "; ")),
            ("identity", job.identity), ("key", key), ("priority", job.priority == 0 ? nil : String(job.priority)),
            ("lane", job.lane == Lane.default.name ? nil : job.lane), ("unique", request?.replay.unique),
            ("kind", job.kind), ("call", job.storedCall),
            ("tags", job.tags.isEmpty ? nil : job.tags.joined(separator: ", ")),
            ("invalidates", invalidates),
            ("metadata", job.metadata.isEmpty ? nil : Output.text(of: job.metadata)),
        ]
        let times: [(String, Date?)] = [
            ("added", job.enqueuedAt), ("changed", job.changedAt), ("not before", job.runAt),
            ("expires", job.expiresAt),
            ("sent", job.sentAt), ("unknown", job.unknownSince),
        ]
        let answers: [(String, String?)] = [
            ("attempts", "\(job.attempts) of \(job.attemptLimit)"), ("answer", job.status.map(String.init)),
            ("sent as", job.idempotencyKey),
        ]
        let all = rare + times.map { ($0, $1.map(Quantity.instant)) } + answers
        return [("job", "\(job.id)"), ("state", state), ("request", "\(job.method) \(job.url)")]
            + all.compactMap { name, value in value.map { (name, $0) } }
    }

    private var invalidates: String? {
        request.flatMap { $0.invalidates.isEmpty ? nil : $0.invalidates.sorted().joined(separator: ", ") }
    }

    private var state: String {
        let next = JobRow.next(job, now: Date())
        return "\(job.state) (\(job.reason))\(next == "-" ? "" : ", \(next)")"
    }

    private var key: String? {
        job.orderingKey.map { "\($0), \(job.order.rawValue)\(job.isHead ? ", first job of the key" : "")" }
    }

    private var written: [String] {
        guard let request else { return [] }
        return ["", "REQUEST"] + Output.text(of: request, isPretty: true).split(separator: "\n").map(String.init)
    }

    var attempts: Table {
        let rows = failures.map { failure in
            let time = Duration.seconds(failure.endedAt.timeIntervalSince(failure.startedAt))
            return [
                String(failure.number), Quantity.instant(failure.startedAt), Quantity.time(time), failure.code,
                failure.message,
            ]
        }
        return Table(
            ["NUMBER": .right, "STARTED": .left, "TOOK": .right, "CODE": .left, "MESSAGE": .left], rows: rows)
    }
}

extension ReplayFailure {
    fileprivate var form: JSONObject {
        [
            "number": number, "startedAt": Quantity.instant(startedAt), "endedAt": Quantity.instant(endedAt),
            "code": code, "message": message,
        ]
    }
}
#endif
