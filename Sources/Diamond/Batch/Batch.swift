import DiamondSQLite
import Foundation

/// A group of connections, with common results, progress and end.
///
/// ```swift
/// let batch = engine.batch(cities.map { Request("https://api.example.com/cities/\($0)") })
/// engine.start(batch)
/// for await item in batch.items { show(item.result, at: item.index) }
/// ```
///
/// An item has ended when its response or error is known and its connection's callbacks have returned,
/// `completionBlock` included. The batch is over when every item has ended; an empty one is over at once. A connection
/// may be in several batches, and several times in one. Observing its progress runs nothing, and releasing it cancels
/// nothing.
///
/// A batch needs no task, and some hundred bytes for each item in addition to the connection.
public final class Batch: Sendable {
    /// The connections, in the order given.
    public let connections: [Connection]

    let coordinator: BatchCoordinator

    /// Creates a batch of connections, of one engine or of several. They may have been started already, or have
    /// finished.
    ///
    /// - Parameters:
    ///   - connections: the connections. Each occurrence is an item.
    ///   - isFailingFast: whether the first failure or canceled item cancels the others.
    ///   - isFailure: returns whether a response counts as a failure; by default none does, whatever its status. Called
    ///     once for each response, on any thread. It must return quickly.
    public init(
        _ connections: [Connection],
        isFailingFast: Bool = false,
        isFailure: @escaping @Sendable (Response) -> Bool = { _ in false }
    ) {
        self.connections = connections
        coordinator = BatchCoordinator(connections, isFailingFast: isFailingFast, isFailure: isFailure)
        coordinator.open(connections)
    }

    /// The number of items.
    public var count: Int { connections.count }

    /// The number of items that have ended. It never decreases.
    public var completed: Int { coordinator.progress.completed }

    /// The result of each item, in the order of ``connections``. Reading it waits until the batch is over. It starts
    /// the connections that were not started, as ``Connection/response`` does.
    ///
    /// Canceling the waiting task cancels the batch.
    public var results: [Result<Response, ConnectionError>] {
        get async {
            await withTaskCancellationHandler {
                if !Task.isCancelled { runForWaiter() }
                await coordinator.end()
            } onCancel: {
                cancel()
            }
            return connections.indices.map(result(at:))
        }
    }

    /// The results of the items in the order in which they end. An iteration that starts late begins with the items
    /// that have ended before, and starts the connections as ``results`` does. The sequence ends when the batch is
    /// over, or when the waiting task is canceled, which cancels nothing else.
    public var items: some AsyncSequence<BatchItem, Never> & Sendable { BatchItems(batch: self) }

    /// Runs the connections that nothing has started, because a task waits for their results.
    func runForWaiter() {
        for connection in connections { connection.core.withLock { $0.isInAwaitedBatch = true } }
        Connection.run(awaited: connections)
    }

    /// Returns the result of an item that has ended.
    func result(at index: Int) -> Result<Response, ConnectionError> {
        connections[index].outcome ?? .failure(.cancelled)
    }

    /// Cancels every connection that has not finished. In other batches with such a connection it is canceled, too.
    public func cancel() { coordinator.cancel() }

    /// Pauses every connection that has not finished, as ``Connection/pause()`` does, until ``resume()``.
    ///
    /// Pauses nest, and add to the pauses of the connections. Retain the batch, because only the batch can end its
    /// pause.
    public func pause() { coordinator.pause() }

    /// Resumes the connections once this has been called as often as ``pause()``.
    public func resume() { coordinator.resume() }
}
