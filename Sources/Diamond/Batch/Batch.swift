import DiamondSQLite
import Foundation

/// Several connections as one: the number of them that have ended, the result of each, and the end of all.
///
/// ```swift
/// let batch = engine.batch(cities.map { Request("https://api.example.com/cities/\($0)") })
/// engine.enqueue(batch)
/// for await item in batch.items { show(item.result, at: item.index) }
/// ```
///
/// An item has ended when its response or error is known and its connection's callbacks have returned,
/// `completionBlock` included. The batch is over when every item has ended; an empty one is over at once. A connection
/// may be in several batches, and twice in one; its end counts in each. The batch runs nothing by itself, and dropping
/// it cancels nothing.
///
/// It costs no task, and some hundred bytes per item in addition to the connection.
public final class Batch: Sendable {
    /// The connections, in the order given.
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

    /// The number of items.
    public var count: Int { connections.count }

    /// The number of items that have ended; it never falls.
    public var completed: Int { ledger.progress.completed }

    /// The result of each item, in the order of ``connections``, returned when the batch is over.
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

    /// The results of the items in the order in which they end. An iteration that starts late begins with the items
    /// that have ended before.
    public var items: BatchItems { BatchItems(batch: self) }

    /// Returns the result of an item that has ended.
    func result(at index: Int) -> Result<Response, ConnectionError> {
        connections[index].outcome ?? .failure(.cancelled)
    }

    /// Cancels every connection that has not finished, also for other batches that it is in.
    public func cancel() { ledger.cancel() }

    /// Pauses every connection that has not finished, as ``Connection/pause()`` does, until ``resume()``.
    ///
    /// Pauses nest, and count in addition to those of the connections. Keep the batch: nothing else ends its pause.
    public func pause() { ledger.pause() }

    /// Resumes the connections, when it has been called once for each ``pause()``.
    public func resume() { ledger.resume() }
}
