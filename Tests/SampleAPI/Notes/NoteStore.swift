import Foundation

/// The notes, and what has been done under which idempotency key.
/// https://datatracker.ietf.org/doc/html/draft-ietf-httpapi-idempotency-key-header
actor NoteStore {
    private enum Progress {
        case running
        case finished(Note)
    }

    private struct Claim {
        let body: Data
        var progress: Progress
    }

    private var notes: [Int: Note] = [:]
    private var claims: [String: Claim] = [:]
    private(set) var effects = Effects()

    /// The note that this key has already made, or nil when the caller is the first and has to make it.
    func claim(_ key: String, for body: Data) throws(Problem) -> Note? {
        guard let claim = claims[key] else {
            claims[key] = Claim(body: body, progress: .running)
            return nil
        }
        guard claim.body == body else {
            throw Problem(code: 422, detail: "The key was used with another body.", parameter: "Idempotency-Key")
        }
        guard case .finished(let note) = claim.progress else {
            throw Problem(code: 409, detail: "The key's first request is running.", retryAfter: 1)
        }
        return note
    }

    func create(_ draft: NoteDraft, key: String?) -> Note {
        let note = Note(id: notes.count + 1, text: draft.text, city: draft.city, parent: draft.parent)
        notes[note.id] = note
        effects.total += 1
        effects.texts.append(draft.text)
        if let key { effects.byKey[key, default: 0] += 1 }
        return note
    }

    /// From here on the key's requests are answered with the note.
    func finish(_ key: String, with note: Note) {
        claims[key]?.progress = .finished(note)
    }

    /// Returns the notes in the order in which they were made: all, or those on a city.
    func notes(on city: Int?) -> [Note] {
        notes.values.filter { city == nil || $0.city == city }.sorted { $0.id < $1.id }
    }

    func note(_ id: Int) throws(Problem) -> Note {
        guard let note = notes[id] else { throw .notFound("note \(id)") }
        return note
    }

    /// Throws unless a note answers another one.
    func check(_ id: Int, answers parent: Int) throws(Problem) {
        guard try note(id).parent == parent else { throw .notFound("note \(id) below note \(parent)") }
    }

    func change(_ id: Int, _ draft: NoteDraft) throws(Problem) -> Note {
        let old = try note(id)
        let note = Note(id: id, text: draft.text, city: old.city, parent: old.parent)
        notes[id] = note
        effects.changes.append(draft.text)
        return note
    }

    /// Forgets notes, keys and counts.
    func reset() {
        notes = [:]
        claims = [:]
        effects = Effects()
    }
}
