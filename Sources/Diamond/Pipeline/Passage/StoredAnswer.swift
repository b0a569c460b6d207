/// What is stored for a passage.
///
/// A class, because every step to the answer has it.
final class StoredAnswer: Sendable {
    let response: StoredResponse
    /// Of its body, where that is handed out in pieces.
    let reader: Boxed<BodyReader>

    init(_ response: StoredResponse, _ reader: Boxed<BodyReader> = .none) {
        (self.response, self.reader) = (response, reader)
    }

    /// The same, marked stale.
    var outdated: StoredAnswer {
        var response = response
        response.flags.insert(.invalidated)
        return StoredAnswer(response, reader)
    }
}
