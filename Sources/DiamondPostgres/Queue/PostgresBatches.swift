#if Postgres && canImport(CDiamondPostgres)
import Diamond
import DiamondSQLite

/// Runs calls together that arrive while earlier ones are being written, so that many share a transaction, and the wait
/// for the server's disk.
final class PostgresBatches<Item: Sendable, Output: Sendable>: Sendable {
    typealias Run = @Sendable ([Item]) async throws(PostgresError) -> [Output]

    private typealias Waiting = (item: Item, promise: Promise<Result<Output, PostgresError>>)

    private struct State {
        var waiting: [Waiting] = []
        var running = 0
    }

    private let state = Guarded(State())
    /// The number of batches at the same time: while one waits for the disk, the next one is made.
    private let width: Int
    private let size: Int

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
            guard state.running < width else { return false }
            state.running += 1
            return true
        }
        if starts { Task { await runAll(run) } }
        return try await promise.value().get()
    }

    private func runAll(_ run: Run) async {
        while let batch = next() {
            do throws(PostgresError) {
                fulfill(batch, with: try await run(batch.map(\.item)))
            } catch {
                await runAlone(batch, after: error, run)
            }
        }
    }

    private func next() -> [Waiting]? {
        state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.running -= 1
                return nil
            }
            let batch = Array(state.waiting.prefix(size))
            state.waiting.removeFirst(batch.count)
            return batch
        }
    }

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
