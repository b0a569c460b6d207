/// The knowledge of a queue about an object to which a request refers.
package enum AwaitedObject: Hashable, Sendable {
    /// No job creates it.
    case missing
    /// A job creates it, and has no answer yet.
    case awaited
    /// The jobs that create it are dead or were discarded.
    case failed
    case known(JSONValue)

    /// Adds the knowledge about a job that creates the object. The id in the metadata of a job has precedence
    /// (``known(_:)``).
    package mutating func addCreator(_ state: ReplayState?, _ reason: ReplayReason, hasAnswer: Bool) {
        switch state {
        // A program that has the class reads the id from the stored answer.
        case .done where reason == .finished && hasAnswer: self = .awaited
        // The object was deleted before it was sent.
        case .done where reason == .replaced: break
        case .done, .dead: if self == .missing { self = .failed }
        default: self = .awaited
        }
    }

    /// Whether no job will create the object.
    package var isLost: Bool { self == .missing || self == .failed }

    /// The id; `null` if it is not known yet. `nil` if no job creates the object.
    package var id: JSONValue? {
        switch self {
        case .missing: nil
        case .awaited, .failed: .null
        case .known(let id): id
        }
    }
}
