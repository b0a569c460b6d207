import Diamond
import DiamondModel

/// What saves and deletions do, and the collection of their answers.
extension OfflineTwin {
    /// Collects the answers to the calls of an object, or of all.
    ///
    /// - Returns: The objects that the collection has made known to the program.
    @discardableResult
    mutating func collect(_ only: String? = nil) -> Set<String> {
        var known: Set<String> = []
        for tag in pieces.keys where only == nil || only == tag {
            while let index = pieces[tag]?.calls.firstIndex(where: { $0.user == user && !$0.isOpen }),
                let call = pieces[tag]?.calls.remove(at: index)
            {
                if call.kind == .create, rows[tag] == nil {
                    rows[tag] = Row(base: nil, step: -1)
                    known.insert(tag)
                }
                apply(call, to: tag)
            }
        }
        return known
    }

    private mutating func apply(_ call: Call, to tag: String) {
        switch (call.outcome, call.kind) {
        case (.accepted?, .destroy): drop(tag)
        case (.accepted(let answer, let time)?, _):
            guard var row = rows[tag], row.base == nil || row.step <= time else { return }
            row.base = answer ?? (row.base ?? Self.defaults).merging(call.values) { $1 }
            row.step = time
            rows[tag] = row
            collected[tag, default: []].formUnion((answer ?? call.values).keys)
        case (.refused?, .create):
            keep(call, of: tag)
            // What waited for the id will never be sent.
            let later = calls(tag)
            pieces[tag]?.calls.removeAll { $0.user == user }
            for call in later { keep(call, of: tag) }
            if later.contains(where: { $0.kind == .destroy }) { discard(tag) }
        case (.refused?, _): keep(call, of: tag)
        case (nil, _): break
        }
    }

    /// Makes the values of a refused call unsaved changes.
    private mutating func keep(_ call: Call, of tag: String) {
        let later = calls(tag).filter(\.isOpen)
        let values = call.values.filter { name, _ in
            Self.defaults[name] != nil && !later.contains { $0.values[name] != nil }
        }
        guard rows[tag] != nil else { return unshown[tag, default: [:]].merge(values) { $1 } }
        rows[tag]?.edits.merge(values) { old, new in old }
        rows[tag]?.failure = call.kind
    }

    /// Adds the changes of an object to the queue.
    ///
    /// - Returns: Whether there is a call for them.
    mutating func enqueue(_ tag: String) -> Bool {
        guard let row = rows[tag] else { return false }
        let waiting = calls(tag)
        rows[tag]?.edits = [:]
        if row.base == nil, !waiting.contains(where: { $0.kind == .create }) {
            add(.create, ["tag": .string(tag)].merging(Self.defaults) { $1 }.merging(row.edits) { $1 }, tag)
            return true
        }
        if row.edits.isEmpty { return false }
        add(.update, row.edits, tag)
        return true
    }

    /// Adds a call, or merges it with one that was not sent.
    private mutating func add(_ kind: ModelCall, _ values: Values, _ tag: String) {
        rows[tag]?.failure = nil
        guard let index = pieces[tag]?.calls.lastIndex(where: { $0.user == user }),
            let last = pieces[tag]?.calls[index], last.isOpen, !last.wasSent, last.kind != .destroy
        else {
            pieces[tag]?.calls.append(Call(user: user, kind: kind, values: values))
            return
        }
        if kind == .destroy {
            pieces[tag]?.calls[index].kind = .destroy
            pieces[tag]?.calls[index].values = [:]
            // The object keeps its changes, in case that it is not deleted.
            rows[tag]?.edits.merge(last.values.filter { Self.defaults[$0.key] != nil }) { old, new in old }
        } else {
            pieces[tag]?.calls[index].values.merge(values) { $1 }
        }
    }

    /// Adds the deletion of an object to the queue.
    ///
    /// - Returns: Whether there is a call for it.
    mutating func enqueueDeletion(_ tag: String) -> Bool {
        let waiting = calls(tag)
        if waiting.isEmpty, rows[tag]?.base == nil {
            discard(tag)
            return false
        }
        // Only the last call can be unsent: earlier ones were sent before it was added.
        if let last = waiting.last, last.kind == .create, last.isOpen, !last.wasSent {
            discard(tag)
            return false
        }
        add(.destroy, [:], tag)
        for list in lists.keys { lists[list]?.remove(tag) }
        return true
    }

    /// Removes an object that was not sent, and those that wait for it.
    mutating func discard(_ tag: String) {
        pieces[tag]?.calls.removeAll { $0.user == user }
        drop(tag)
        for (child, piece) in pieces where piece.parent == tag && calls(child).contains(where: { $0.kind == .create }) {
            discard(child)
        }
    }

    /// Takes back the last call of an object, whose first attempt the server has refused.
    ///
    /// - Parameter before: The values that were shown before the save.
    mutating func undo(_ tag: String, before: Values) {
        guard let index = pieces[tag]?.calls.lastIndex(where: { $0.user == user }),
            let call = pieces[tag]?.calls.remove(at: index)
        else { return }
        for name in call.values.keys where Self.defaults[name] != nil {
            let value = before[name] ?? .null
            let base = rows[tag]?.base?[name] ?? Self.defaults[name]
            // `nil` would be the JSON value here.
            if value == base { rows[tag]?.edits.removeValue(forKey: name) } else { rows[tag]?.edits[name] = value }
        }
    }
}
