/// The stored response that was found for a request.
///
/// It is a class because every step of the exchange has it.
final class StoredCandidate: Sendable {
    let response: StoredResponse
    /// The reader of the body in pieces, for a sink.
    let reader: IndirectOptional<BodyReader>

    init(_ response: StoredResponse, reader: IndirectOptional<BodyReader> = .none) {
        self.response = response
        self.reader = reader
    }

    /// This candidate, marked stale.
    var invalidated: StoredCandidate {
        var response = response
        response.flags.insert(.invalidated)
        return StoredCandidate(response, reader: reader)
    }
}
