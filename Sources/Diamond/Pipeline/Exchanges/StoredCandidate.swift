/// The stored response that was found for a request.
///
/// It is a class because every step of the exchange has it.
final class StoredCandidate: Sendable {
    let response: StoredResponse
    /// The identity that it is stored under: that of the request, or of the variant that the request selects.
    let identity: ResolvedRequest.Identity
    /// The reader of the body in pieces, for a sink.
    let reader: IndirectOptional<BodyReader>

    init(
        _ response: StoredResponse,
        of identity: ResolvedRequest.Identity,
        reader: IndirectOptional<BodyReader> = .none
    ) {
        self.response = response
        self.identity = identity
        self.reader = reader
    }

    /// Whether the response answers a range from a stored part.
    var isPart: Bool { response.status == 206 }

    /// This candidate, marked stale.
    var invalidated: StoredCandidate {
        var response = response
        response.flags.insert(.invalidated)
        return with(response)
    }

    /// Returns this candidate with another response.
    func with(_ response: StoredResponse) -> StoredCandidate {
        StoredCandidate(response, of: identity, reader: reader)
    }

    /// This candidate without the reader.
    var withoutReader: StoredCandidate { StoredCandidate(response, of: identity) }
}
