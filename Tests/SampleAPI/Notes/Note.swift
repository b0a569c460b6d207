/// What a client writes with `POST /notes`.
struct NoteDraft: Decodable, Sendable {
    let text: String
    /// The id of the city that the note is about.
    let city: Int?
    /// The id of the note that this one answers.
    let parent: Int?
}

struct Note: Codable, Sendable {
    let id: Int
    let text: String
    let city: Int?
    let parent: Int?
}

/// How often a write took effect, so that a test can see that a repeated one did not.
struct Effects: Encodable, Sendable {
    var total = 0
    var byKey: [String: Int] = [:]
    /// Of the notes, in the order in which they were made.
    var texts: [String] = []
    /// What was written into notes afterwards, in its order.
    var changes: [String] = []
}
