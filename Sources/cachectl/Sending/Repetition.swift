#if Tools
import ArgumentParser
import Diamond
import DiamondSQLite
import Foundation

/// Sends a sequence of requests many times, and measures the responses.
struct Repetition: Sendable {
    let count: Int
    /// The maximum number of sequences that run at the same time.
    let concurrency: Int

    /// Sends the sequence until the count is reached, or until SIGINT, SIGTERM or SIGHUP. Requests that are running
    /// then are canceled, and not counted.
    func run(_ sequence: RequestSequence, with engine: Engine) async -> LoadSummary {
        let summary = Guarded(LoadSummary())
        let observation = engine.activity.observe { event in
            guard case .began(let interval) = event, interval.kind == .attempt else { return }
            summary.withLock { $0.attempts += 1 }
        }
        let start = ContinuousClock.now
        let task = Task { await repeating(sequence, with: engine, adding: summary) }
        let interruption = Interruption { task.cancel() }
        await task.value
        interruption.end()
        withExtendedLifetime(observation) {}
        return summary.withLock {
            $0.time = ContinuousClock.now - start
            $0.isInterrupted = task.isCancelled
            return $0
        }
    }

    private func repeating(
        _ sequence: RequestSequence, with engine: Engine, adding summary: Guarded<LoadSummary>
    ) async {
        let started = Guarded(0)
        let begins = { @Sendable () -> Bool in
            started.withLock {
                $0 += 1
                return $0 <= count && !Task.isCancelled
            }
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<min(concurrency, count) {
                group.addTask {
                    while begins() { await Self.run(sequence, with: engine, adding: summary) }
                }
            }
        }
    }

    private static func run(
        _ sequence: RequestSequence, with engine: Engine, adding summary: Guarded<LoadSummary>
    ) async {
        do {
            _ = try await sequence.run(with: engine) { result in
                guard !Task.isCancelled else { throw CancellationError() }
                summary.withLock { $0.add(result) }
            }
        } catch {
            guard !(error is CancellationError) else { return }
            // A captured value does not fit into the request.
            summary.withLock { $0.addUnsent(error) }
        }
    }
}

/// The counts and latencies of requests that were sent many times.
struct LoadSummary: Sendable {
    var time = Duration.zero
    var isInterrupted = false
    /// The number of attempts on the wire, those of refreshes in the background included.
    var attempts = 0
    private var requests = 0
    private var latencies: [Duration] = []
    private var sources: [Response.Source: Int] = [:]
    private var statuses: [Int: Int] = [:]
    private var errors: [String: Int] = [:]
    private var problems: [String: Int] = [:]
    private var codes: Set<Int32> = []

    mutating func add(_ result: StepResult) {
        requests += 1
        if let code = result.code { codes.insert(code.rawValue) }
        switch result.response {
        case .success(let response):
            latencies.append(result.time)
            sources[response.source, default: 0] += 1
            statuses[response.status.code, default: 0] += 1
            for problem in result.problems {
                // A subject can have a value that was captured.
                let isKnown = problems.count < 20 || problems[problem.subject] != nil
                problems[isKnown ? problem.subject : "others", default: 0] += 1
            }
        case .failure(let error): errors[error.code.description, default: 0] += 1
        }
    }

    mutating func addUnsent(_ error: any Error) {
        let isMissing = error is MissingValue
        codes.insert((isMissing ? Failure.missingValue : Failure.usage).rawValue)
        errors[isMissing ? "missingValue" : "badRequest", default: 0] += 1
    }

    /// The exit code: that of the gravest failure; `nil` if there is none.
    var code: ExitCode? {
        let order = [
            Failure.usage, Failure.noStore, Failure.noResponse, Failure.failedAssertion, Failure.missingValue,
            Failure.errorStatus, Failure.nothingFound, Failure.queued,
        ]
        return order.first { codes.contains($0.rawValue) } ?? (isInterrupted ? Failure.noResponse : nil)
    }

    private var perSecond: Double { time > .zero ? Double(requests) / (Quantity.milliseconds(time) / 1000) : 0 }

    private static func text(_ counts: some Sequence<(String, Int)>) -> String {
        counts.map { "\($0.1) \($0.0)" }.joined(separator: ", ")
    }

    private var answers: [(name: String, count: Int)] {
        Response.Source.allCases.compactMap { source in sources[source].map { (source.rawValue, $0) } }
    }

    /// The lines for a terminal.
    var lines: [String] {
        let rate = Double(Int(perSecond * 10)) / 10
        let end = isInterrupted ? "; interrupted" : ""
        var lines = ["requests    \(requests) in \(Quantity.time(time)), \(rate) per second\(end)"]
        if !answers.isEmpty { lines.append("answers     \(Self.text(answers.map { ("from \($0.name)", $0.count) }))") }
        lines.append("attempts    \(attempts) on the wire")
        if !statuses.isEmpty {
            let counts = statuses.sorted { $0.key < $1.key }.map { ("with status \($0.key)", $0.value) }
            lines.append("statuses    \(Self.text(counts))")
        }
        let failures = errors.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        if !failures.isEmpty { lines.append("errors      \(Self.text(failures))") }
        lines += problems.sorted { $0.key < $1.key }.map { "problem     \($0.value) × \($0.key)" }
        guard !latencies.isEmpty else { return lines }
        let latencies = Latencies(latencies)
        let figures = latencies.figures.map { "\($0.key) \(Quantity.time($0.value))" }
        lines += ["latency     \(figures.joined(separator: ", "))", ""]
        return lines + latencies.table.lines(width: Output.width)
    }

    var form: JSONObject {
        let counts: JSONObject = [
            "requests": requests, "seconds": Quantity.milliseconds(time) / 1000,
            "perSecond": perSecond, "interrupted": isInterrupted, "attempts": attempts,
            "sources": Dictionary(answers.map { ($0.name, $0.count) }) { $1 },
            "statuses": Dictionary(statuses.map { (String($0.key), $0.value) }) { $1 }, "errors": errors,
            "problems": problems,
        ]
        return latencies.isEmpty ? counts : counts.adding(Latencies(latencies).form)
    }
}
#endif
