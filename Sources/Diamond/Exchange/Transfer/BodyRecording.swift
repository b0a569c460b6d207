import Foundation

/// Records the body that goes into a ``BodySink``, so that the response can be stored when it is complete.
protocol BodyRecording: AnyObject, Sendable {
    /// Begins a body, and discards the one before.
    ///
    /// - Parameter head: the response without its body.
    func begin(_ head: ReceivedResponse) async

    /// Adds the next piece. The transfer waits until it is in memory or on disk.
    func append(_ piece: Data) async
}
