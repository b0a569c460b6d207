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
        guard let job = try queue.job(id) else { throw ReplayError.noJob(id) }
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
#endif
