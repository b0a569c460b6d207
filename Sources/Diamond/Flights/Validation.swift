/// What a kind of asker says of an answer before it is stored.
struct Validation: Sendable {
    /// Those of one kind say the same of an answer, and may share a flight.
    let kind: ObjectIdentifier
    private let validate: @Sendable (Response) throws -> Void

    init(kind: ObjectIdentifier, _ validate: @escaping @Sendable (Response) throws -> Void) {
        self.kind = kind
        self.validate = validate
    }

    /// `nil` where nothing is said against it.
    func refusal(of response: Response) -> ConnectionError? {
        do { try validate(response) } catch {
            let place = RequestURL.masked(Array(response.url.utf8))
            var refusal = ConnectionError(
                .invalidResponse, "the answer of \(place) is refused: see the cause", cause: error)
            (refusal.response, refusal.attempts) = (response, response.attempts)
            return refusal
        }
        return nil
    }
}
