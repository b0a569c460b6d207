#if Tools
import ArgumentParser
import Diamond

/// The queue of a command, and the keys that seal it.
typealias QueueOptions = PlaceOptions<QueueServer>

extension QueueOptions {
    /// Opens the queue.
    ///
    /// - Parameter create: Whether a missing queue is created, and one in clear sealed. Otherwise throws if there is
    ///   none.
    func openQueue(create: Bool = false) async throws -> ReplayQueue {
        try await chosenPlace().queue(sealing.seal(), create: create)
    }

    /// Opens the queue. Returns `nil` if the store or the server exists and has no queue, and throws if there is no
    /// store.
    func findQueue() async throws -> ReplayQueue? {
        do {
            return try await openQueue()
        } catch let error as ReplayError {
            let isThere = try chosenPlace().store?.isThere ?? true
            guard error.code == .noStore, isThere else { throw error }
            return nil
        }
    }
}
#endif
