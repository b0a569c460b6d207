#if Postgres && canImport(CDiamondPostgres)
import Diamond
import DiamondSQLite

/// Runs calls together that arrive while earlier ones are being written, so that many share a transaction, and the wait
/// for the server's disk.
///
/// Calls that were answered at about the same time often come together again. So a batch waits a moment for as many calls
/// as were written at the same time before. A single caller never waits.
final class PostgresBatches<Item: Sendable, Output: Sendable>: Sendable {
    typealias Run = @Sendable ([Item]) async throws(PostgresError) -> [Output]

    private typealias Waiting = (item: Item, promise: Promise<Result<Output, PostgresError>>)

    private struct State {
        var waiting: [Waiting] = []
        var running = 0
        var isGathering = false
        /// The number of calls that are being written.
        var inFlight = 0
        /// The number of calls that were being written when the last batch began, its own included.
        var usualCount = 1

        /// Whether fewer calls wait than usually come together.
        var mayGrow: Bool { !waiting.isEmpty && waiting.count < usualCount }
    }

    private let state = Guarded(State())
    /// The number of batches at the same time: while one waits for the disk, the next one is made.
    private let width: Int
    private let size: Int
    /// The time for which a batch waits for more calls, three times at most; much shorter than a transaction.
    private static var gatherTime: Duration { .microseconds(100) }

    /// The number of calls for which a batch waits; for tests.
    var usualCount: Int { state.withLock { $0.usualCount } }

    /// - Parameter size: the maximum number of calls in a batch.
    init(width: Int = 2, size: Int = 100) {
        self.width = width
        self.size = size
    }

    /// - Parameter run: returns an output for each item, in their order. All calls have the same.
    func call(_ item: Item, _ run: @escaping Run) async throws(PostgresError) -> Output {
        let promise = Promise<Result<Output, PostgresError>>()
        let starts = state.withLock { state in
            state.waiting.append((item, promise))
            guard state.running < width, !state.isGathering else { return false }
            state.running += 1
            return true
        }
        if starts { Task { await runAll(run) } }
        return try await promise.value().get()
    }

    private func runAll(_ run: @escaping Run) async {
        while true {
            await gather()
            let (batch, isMore) = next()
            if isMore { Task { await runAll(run) } }
            guard let batch else { return }
            do throws(PostgresError) {
                let outputs = try await run(batch.map(\.item))
                noteEnd(of: batch)
                fulfill(batch, with: outputs)
            } catch {
                noteEnd(of: batch)
                await runAlone(batch, after: error, run)
            }
        }
    }

    private func gather() async {
        for _ in 0..<3 {
            let mayGrow = state.withLock { state in
                state.isGathering = state.mayGrow
                return state.mayGrow
            }
            guard mayGrow else { return }
            try? await ContinuousClock().sleep(for: Self.gatherTime, tolerance: .zero)
        }
    }

    /// - Returns: the next batch, and whether another one may run beside it.
    private func next() -> ([Waiting]?, isMore: Bool) {
        state.withLock { state in
            state.isGathering = false
            guard !state.waiting.isEmpty else {
                state.running -= 1
                return (nil, false)
            }
            let batch = Array(state.waiting.prefix(size))
            state.waiting.removeFirst(batch.count)
            state.inFlight += batch.count
            state.usualCount = min(state.inFlight, size)
            let isMore = !state.waiting.isEmpty && state.running < width
            if isMore { state.running += 1 }
            return (batch, isMore)
        }
    }

    // Before the callers go on, because the next calls of theirs are not beside these.
    private func noteEnd(of batch: [Waiting]) { state.withLock { $0.inFlight -= batch.count } }

    private func fulfill(_ batch: [Waiting], with outputs: [Output]) {
        for (waiting, output) in zip(batch, outputs) { waiting.promise.fulfill(with: .success(output)) }
    }

    /// Runs calls one by one if the server has refused their batch, because one of them may be the reason.
    private func runAlone(_ batch: [Waiting], after error: PostgresError, _ run: Run) async {
        for waiting in batch {
            guard error.code == .refused, batch.count > 1 else {
                waiting.promise.fulfill(with: .failure(error))
                continue
            }
            do throws(PostgresError) {
                fulfill([waiting], with: try await run([waiting.item]))
            } catch {
                waiting.promise.fulfill(with: .failure(error))
            }
        }
    }
}
#endif
