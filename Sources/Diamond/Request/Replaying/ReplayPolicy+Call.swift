import Foundation

extension ReplayPolicy {
    /// The maximum length of a stored call, in bytes.
    static let longestCall = 65_536

    /// Returns the policy with a typed call that the job stores. ``ReplayJob/call(as:)`` returns the call, also in a
    /// later process.
    ///
    /// ```swift
    /// struct AddNote: Endpoint {
    ///     typealias Output = Note
    ///     var text: String
    ///
    ///     var request: Request {
    ///         get throws {
    ///             var request = Request("notes", method: .post, body: .json(["text": text]))
    ///             request.replay = try .durable.storing(self)
    ///             return request
    ///         }
    ///     }
    /// }
    /// ```
    ///
    /// The call is stored as JSON of 64 KiB at most, in clear unless the store is sealed. It is neither sent nor part
    /// of the request's key. A call with a member that is named like a secret, such as `password`, is refused when the
    /// request is sent or queued: leave it out of the call's coding keys. If jobs are merged, the job has the call of
    /// the newer request.
    ///
    /// - Parameter call: the call that the request is made from.
    /// - Throws: ``RequestError/Code-swift.struct/malformedRequest`` if the call cannot be encoded, or is too long.
    public func storing<Call: Endpoint>(_ call: Call) throws(RequestError) -> ReplayPolicy {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let json: Data
        do { json = try encoder.encode(call) } catch {
            throw RequestError(.malformedRequest, "a call of type \(Call.kind) cannot be stored: it cannot be encoded")
        }
        guard json.count <= Self.longestCall else {
            let size = "\(json.count) bytes, more than \(Self.longestCall)"
            throw RequestError(.malformedRequest, "a call of type \(Call.kind) cannot be stored: it has \(size)")
        }
        var policy = self
        policy.kind = Call.kind
        policy.call = String(decoding: json, as: UTF8.self)
        return policy
    }
}
