import Diamond
import DiamondModel

/// The promises of the article Queueing as plain values: a server, the queue of each user, and the objects that a
/// program shows. It knows no model, no context and no queue of Diamond.
struct OfflineTwin {
    typealias Values = [String: JSONValue]

    enum Outcome {
        /// The server has the values. The row is the body of its answer; `nil` without a body.
        case accepted(row: Values?, step: Int)
        case refused
    }

    /// A call in the queue.
    struct Call {
        let user: String
        var kind: ModelCall
        /// The values that the call sets; all for a creation.
        var values: Values
        /// Whether the server may know the call. It is not changed any more then.
        var wasSent = false
        var key: String?
        /// The server's row after it has acted.
        var row: Values?
        var outcome: Outcome?

        var isOpen: Bool { outcome == nil }
        var isRefused: Bool { if case .refused? = outcome { true } else { false } }
    }

    /// An object that was created once, by its tag.
    struct Piece {
        /// The tag of the album; `nil` for an album.
        let parent: String?
        /// The server's id, from the moment at which an answer with it has arrived.
        var id: Int?
        var calls: [Call] = []
        /// Whether it was deleted, or never created.
        var isGone = false
    }

    /// An object that the program shows.
    struct Row {
        /// The server's values as the program knows them; `nil` for a new object.
        var base: Values?
        /// The time at which the base was the server's.
        var step: Int
        /// The changes that are in no call.
        var edits: Values = [:]
        /// Refused values of a time at which the object was not shown. They may be shown.
        var others: Values = [:]
        /// The kind of the last call that was refused.
        var failure: ModelCall?
    }

    var pieces: [String: Piece] = [:]
    /// The objects on the server.
    var server: [String: Values] = [:]
    var user = ""
    /// The objects of the running program.
    var rows: [String: Row] = [:]
    /// The tags that a list must have: those of the albums at "", those of tracks at the tag of their album.
    var lists: [String: Set<String>] = [:]
    /// Refused values of objects that are not shown, as long as the program runs.
    var unshown: [String: Values] = [:]
    /// The stored answers, by user and list.
    private var stored: [String: (tags: [String: Values], step: Int)] = [:]
    var keys: Set<String> = []
    /// The names of the values from the answers that the last load has collected, by tag.
    var collected: [String: Set<String>] = [:]
    /// Whether the program has used tracks. A load collects only the answers of known classes.
    var knowsTracks = false
    /// Whether the program has read the queue.
    var hasRead = false
    var step = 0
    var violations: [String] = []

    static let defaults: Values = ["text": "", "stars": 0]

    // MARK: What is shown

    func calls(_ tag: String) -> [Call] { pieces[tag]?.calls.filter { $0.user == user } ?? [] }

    /// Whether the deletion of an object waits, or is confirmed.
    func isHidden(_ tag: String) -> Bool {
        pieces[tag]?.isGone ?? false || calls(tag).contains { $0.kind == .destroy && !$0.isRefused }
    }

    /// Whether the server has an object although the answer to its creation was lost. Nobody can know that the object of
    /// a list is the new one, until the creation is repeated.
    func isShownTwice(_ tag: String) -> Bool {
        server[tag] != nil && calls(tag).contains { $0.kind == .create && $0.wasSent }
    }

    /// Returns the values that a property may have now: one, unless the answer to a call was not collected.
    func shown(_ name: String, of tag: String) -> Set<JSONValue> {
        guard let row = rows[tag] else { return [] }
        let base = row.base?[name] ?? Self.defaults[name] ?? .null
        if let edit = row.edits[name] { return [edit] }
        guard let call = calls(tag).last(where: { $0.values[name] != nil && $0.kind != .destroy }) else {
            return row.others[name].map { [$0, base] } ?? [base]
        }
        let value = call.values[name] ?? .null
        return call.isOpen ? [value] : [value, base]
    }

    /// Returns whether an object has unsaved or unconfirmed changes; `nil` if that depends on uncollected answers.
    func isDirty(_ tag: String) -> Bool? {
        guard let row = rows[tag], let base = row.base else { return nil }
        var isDirty = false
        for name in Self.defaults.keys {
            let values = shown(name, of: tag)
            if values.count > 1 { return nil }
            if !values.contains(base[name] ?? .null) { isDirty = true }
        }
        return isDirty
    }

    /// The number of objects with calls in the queue.
    var waitingCount: Int { pieces.keys.count { !calls($0).isEmpty } }

    /// Returns the name of an object's state; `nil` if that depends on uncollected answers.
    func state(_ tag: String) -> String? {
        if !calls(tag).isEmpty { return "waiting" }
        guard let row = rows[tag], row.others.isEmpty else { return nil }
        let isUnsaved = row.base == nil || isDirty(tag) == true
        if let failure = row.failure, isUnsaved || failure == .destroy { return "failed" }
        return isUnsaved ? "unsaved" : "saved"
    }

    /// The new objects of a list whose creation waits.
    func waiting(in list: String) -> Set<String> {
        Set(
            pieces.filter { tag, piece in
                (piece.parent ?? "") == list && !isHidden(tag) && isWaiting(tag)
            }.keys)
    }

    /// The objects that must not be in a list: those whose deletion waits, and those that only others have. An object
    /// that is gone may be in a stored list.
    var hidden: Set<String> {
        Set(
            pieces.filter { tag, piece in
                piece.isGone ? false : isHidden(tag) || (rows[tag] == nil && server[tag] == nil && calls(tag).isEmpty)
            }.keys)
    }

    // MARK: The program

    mutating func restart(as user: String) {
        self.user = user
        (rows, lists, unshown) = ([:], [:], [:])
        (knowsTracks, hasRead) = (false, false)
    }

    mutating func add(_ tag: String, to parent: String?, _ values: Values) {
        pieces[tag] = Piece(parent: parent)
        rows[tag] = Row(base: nil, step: step, edits: values)
        lists[parent ?? "", default: []].insert(tag)
    }

    /// Forgets an object whose creation was refused at once.
    mutating func drop(_ tag: String) {
        pieces[tag]?.isGone = true
        rows[tag] = nil
        for list in lists.keys { lists[list]?.remove(tag) }
    }

    /// Notes that a save or deletion of an object begins.
    mutating func use(_ tag: String) {
        hasRead = true
        if pieces[tag]?.parent != nil { knowsTracks = true }
    }

    /// Whether new objects wait for the id of an album.
    func isAwaited(_ tag: String) -> Bool {
        rows[tag]?.base == nil && pieces.contains { child, piece in piece.parent == tag && isWaiting(child) }
    }

    /// Whether the creation of an object waits.
    func isWaiting(_ tag: String) -> Bool { calls(tag).contains { $0.kind == .create && $0.isOpen } }

    /// Whether a call that creates an object has to wait for its album.
    func waitsForParent(_ tag: String) -> Bool {
        guard rows[tag]?.base == nil, let parent = pieces[tag]?.parent else { return false }
        return rows[parent]?.base == nil
    }

    mutating func edit(_ tag: String, _ values: Values) { rows[tag]?.edits.merge(values) { $1 } }

    // MARK: Loading

    /// Collects the answers that are there when a load ends.
    mutating func endLoad(of list: String) {
        hasRead = true
        if !list.isEmpty { knowsTracks = true }
        collected = [:]
        for (tag, piece) in pieces where piece.parent == nil || knowsTracks { collect(tag) }
    }

    /// Applies a page of a list that the server has sent.
    mutating func load(_ list: String, _ tags: [String], isFirst: Bool) {
        let key = "\(user) \(list)"
        let found: [String: Values] = tags.reduce(into: [:]) { $0[$1] = server[$1] }
        if isFirst { stored[key] = (found, step) }
        show(list, found, at: step, isFirst: isFirst)
    }

    /// Applies the stored list, without the server. The answers that the load has collected are newer.
    mutating func loadStored(_ list: String) {
        guard let known = stored["\(user) \(list)"] else {
            return violate("\(list) was loaded without a server and without a stored answer")
        }
        var found = known.tags
        for (tag, names) in collected {
            let base = rows[tag]?.base ?? [:]
            found[tag]?.merge(base.filter { names.contains($0.key) }) { $1 }
        }
        show(list, found, at: known.step, isFirst: true)
    }

    private mutating func show(_ list: String, _ found: [String: Values], at time: Int, isFirst: Bool) {
        let found = found.filter { !isHidden($0.key) && !isShownTwice($0.key) }
        if isFirst { lists[list] = [] }
        lists[list, default: []].formUnion(found.keys)
        for (tag, values) in found { read(tag, values, at: time) }
        for tag in waiting(in: list) where rows[tag] == nil { rows[tag] = Row(base: nil, step: step) }
        let new = rows.keys.filter { tag in
            rows[tag]?.base == nil && pieces[tag].map { ($0.parent ?? "") == list } ?? false && !isHidden(tag)
        }
        lists[list]?.formUnion(new)
    }

    /// Applies the server's values of an object.
    mutating func read(_ tag: String, _ values: Values, at time: Int) {
        var row = rows[tag] ?? Row(base: nil, step: time, others: unshown[tag] ?? [:])
        row.base = values
        row.step = time
        rows[tag] = row
    }

    mutating func violate(_ what: String) { violations.append(what) }
}
