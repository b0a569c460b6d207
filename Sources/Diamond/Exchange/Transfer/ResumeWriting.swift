import Foundation

/// Finds the partial response of an earlier exchange, and saves that of this one.
///
/// One exchange calls it, in this order: ``partialResponse(for:)``, any number of ``begin(_:)`` each with its pieces,
/// and ``save(_:for:)`` if the exchange ends without a complete response.
protocol ResumeWriting: AnyObject, Sendable {
    /// Returns the partial response that an earlier exchange has saved; `none` if there is nothing to resume.
    func partialResponse(for request: TransportRequest) async -> IndirectOptional<PartialResponse>

    /// Begins a response that can be resumed, or its rest.
    ///
    /// - Parameter response: the partial response with the bytes that were received before.
    func begin(_ response: PartialResponse) async

    /// Adds a piece to the response that has begun.
    func append(_ piece: Data) async

    /// Discards the saved bytes.
    func discard() async

    /// Saves the partial response at the end of the exchange.
    func save(_ response: PartialResponse, for request: TransportRequest) async

    /// Announces the end of a canceled exchange. The next exchange for the same request waits until this one has saved
    /// its partial response.
    func cancel()
}
