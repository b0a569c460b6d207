import DiamondSQLite
import Foundation

/// Many connections as one: how many of them have ended, what has become of each, and when all have.
///
/// ```swift
/// let batch = engine.batch(cities.map { Request("https://api.example.com/cities/\($0)") })
/// engine.enqueue(batch)
/// for await item in batch.items { show(item.result, at: item.index) }
/// ```
///
/// An item has ended when its response or error is known and its connection's callbacks have returned, `completionBlock`
/// included; the batch is over when every item has ended. An empty one is over at once. A connection may be in several
/// batches, and twice in one; its end counts in each. The batch runs nothing by itself, and dropping it cancels nothing.
///
/// It costs no task, and per item some hundred bytes beside the connection.
public final class Batch: Sendable {
    /// In the order given.
    public let connections: [Connection]

    let ledger: BatchLedger

    /// Makes a batch of connections, of one engine or of several, whether or not they have been enqueued, or finished.
    ///
    /// - Parameters:
    ///   - connections: each counts once for every time it is named.
    ///   - isFailingFast: whether the first failure, be it a canceled item, cancels the others.
    ///   - isFailure: whether a response is a failure as well: by default none is, whatever its status. Called once for each,
    ///     on any thread; be short.
    public init(
        _ connections: [Connection],
        isFailingFast: Bool = false,
        isFailure: @escaping @Sendable (Response) -> Bool = { _ in false }
    ) {
        self.connections = connections
        ledger = BatchLedger(connections, isFailingFast: isFailingFast, isFailure: isFailure)
        ledger.open(connections)
    }

    /// Whether the first failure cancels the others.
    public var isFailingFast: Bool { ledger.isFailingFast }

    /// How many items there are.
    public var count: Int { connections.count }

    /// How many items have ended; it never falls.
    public var completed: Int { ledger.progress.completed }

    /// What has become of each item, in the order of ``connections``, when the batch is over.
    ///
    /// Canceling the waiting task cancels the batch.
    public var results: [Result<Response, ConnectionError>] {
        get async {
            await withTaskCancellationHandler {
                await ledger.end()
            } onCancel: {
                cancel()
            }
            return connections.indices.map(result(at:))
        }
    }

    /// Each item's result as it comes, the first first: whoever comes late begins with those that have ended before.
    public var items: BatchItems { BatchItems(batch: self) }

    /// Of an item that has ended.
    func result(at index: Int) -> Result<Response, ConnectionError> {
        connections[index].outcome ?? .failure(.cancelled)
    }

    /// Cancels every connection that has not finished, also for other batches that it is in.
    public func cancel() { ledger.cancel() }

    /// Pauses every connection that has not finished, as ``Connection/pause()`` does, until ``resume()``.
    ///
    /// Pauses nest, beside those of the connections. Keep the batch: nothing else takes back its pause.
    public func pause() { ledger.pause() }

    /// Lets the connections go on, when each ``pause()`` has been answered by this.
    public func resume() { ledger.resume() }
}
