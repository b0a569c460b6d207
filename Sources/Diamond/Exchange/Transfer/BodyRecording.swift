import Foundation

/// Records the body of one exchange while it is received: for the cache, and for a later exchange that continues it.
///
/// The exchange calls it, in this order: ``partialResponse(for:)``; for each response ``open(_:)`` if its body goes into
/// a sink, and ``begin(_:)`` if it can be resumed, each with its pieces; and ``save(_:for:)`` if the exchange ends
/// without a complete response.
protocol BodyRecording: AnyObject, Sendable {
    /// Returns the partial response that an earlier exchange has saved; `none` if there is nothing to resume.
    func partialResponse(for request: TransportRequest) async -> IndirectOptional<PartialResponse>

    /// Begins a body that goes into a sink, and discards the one before.
    ///
    /// - Parameter head: the response without its body.
    /// - Returns: whether the response is stored when its body is complete.
    func open(_ head: ReceivedResponse) async -> Bool

    /// Begins a response that can be resumed, or its rest.
    ///
    /// - Parameter response: the partial response with the bytes that were received before.
    func begin(_ response: PartialResponse) async

    /// Adds the next piece. The transfer waits until it is in memory or on disk.
    ///
    /// - Returns: whether the response is still stored when its body is complete.
    @discardableResult
    func append(_ piece: Data) async -> Bool

    /// Discards the recorded bytes.
    func discard() async

    /// Saves the partial response at the end of the exchange.
    func save(_ response: PartialResponse, for request: TransportRequest) async

    /// Announces the end of a canceled exchange. The next exchange for the same request waits until this one has saved
    /// its partial response.
    func cancel()
}
