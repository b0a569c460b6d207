import Foundation

/// Records the body that goes into a ``BodySink``, so that the response can be stored when it is complete.
protocol BodyRecording: AnyObject, Sendable {
    /// Begins a body, and discards the one before.
    ///
    /// - Parameter head: the response without its body.
    /// - Returns: whether the response is stored when its body is complete.
    func begin(_ head: ReceivedResponse) async -> Bool

    /// Adds the next piece. The transfer waits until it is in memory or on disk.
    ///
    /// - Returns: whether the response is still stored when its body is complete.
    func append(_ piece: Data) async -> Bool
}
