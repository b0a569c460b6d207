import Diamond
import DiamondModel

/// What the server has to receive, and what it does.
extension OfflineTwin {
    /// A call that a save sends at once, without the queue.
    struct DirectCall {
        let tag: String
        let kind: ModelCall
        let values: Values
    }

    /// Checks a call that has reached the server, and applies it.
    ///
    /// - Returns: The tag of the object, and whether the server has accepted the call.
    @discardableResult
    mutating func receive(_ call: OfflineServer.Call, direct: DirectCall?) -> (tag: String, isAccepted: Bool)? {
        let ids = call.path.split(separator: "/").compactMap { Int($0) }
        var tag = pieces.first { $0.value.id != nil && $0.value.id == ids.last }?.key
        if call.method == "POST", case .string(let text)? = call.body["tag"] { tag = text }
        guard let tag, let piece = pieces[tag] else {
            violate("\(call.method) \(call.path) \(call.body) is about no object")
            return nil
        }
        let index = piece.calls.firstIndex { $0.user == user && $0.isOpen }
        let isDirect = direct?.tag == tag && index == nil
        guard isDirect || index != nil else {
            violate("\(call.method) \(call.path) \(call.body) was not queued")
            return nil
        }
        let queued = index.map { piece.calls[$0] }
        let kind = direct.flatMap { isDirect ? $0.kind : nil } ?? queued?.kind ?? .fetch
        let values = direct.flatMap { isDirect ? $0.values : nil } ?? queued?.values ?? [:]
        check(call, kind, values, of: tag, key: queued?.key, isDirect: isDirect)
        let isAccepted = call.status.map { $0 < 300 } ?? false
        if call.hasActed, queued?.row == nil { act(kind, values, on: tag) }
        if isAccepted, let id = call.id { pieces[tag]?.id = id }
        if let index { settle(call, at: index, of: tag) }
        return (tag, isAccepted)
    }

    private mutating func check(
        _ call: OfflineServer.Call, _ kind: ModelCall, _ values: Values, of tag: String, key: String?, isDirect: Bool
    ) {
        let text = "\(call.method) \(call.path) \(call.body)"
        let methods: [ModelCall: String] = [.create: "POST", .update: "PATCH", .destroy: "DELETE"]
        if methods[kind] != call.method { violate("\(text) instead of \(kind) of \(tag)") }
        guard let piece = pieces[tag] else { return }
        let album = piece.parent.map { pieces[$0]?.id }
        var path = "albums"
        if let album { path += "/\(album.map { "\($0)" } ?? "none")/tracks" }
        if kind != .create { path += "/\(piece.id.map { "\($0)" } ?? "none")" }
        if path != call.path { violate("\(text) instead of \(path)") }
        var body = values
        if kind == .create, let album { body["album"] = album.map { JSONValue($0) } ?? .null }
        if call.body != body { violate("\(text) instead of \(body)") }
        if isDirect || kind == .destroy { return }
        guard let sent = call.key else { return violate("\(text) without a key") }
        if let key, key != sent { violate("\(text) with another key") }
        if key == nil, !keys.insert(sent).inserted { violate("\(text) with the key of another call") }
    }

    private mutating func act(_ kind: ModelCall, _ values: Values, on tag: String) {
        switch kind {
        case .create: server[tag] = values
        case .update: server[tag]?.merge(values) { $1 }
        default: server[tag] = nil
        }
    }

    private mutating func settle(_ call: OfflineServer.Call, at index: Int, of tag: String) {
        guard var queued = pieces[tag]?.calls[index] else { return }
        if let key = call.key { queued.key = key }
        if queued.row == nil, call.hasActed { queued.row = server[tag] }
        let isGone = queued.kind == .destroy && call.status == 404
        switch call.status {
        case let status? where status < 300 || isGone:
            let hasBody = call.fate == .answered && queued.kind != .destroy
            queued.outcome = .accepted(row: hasBody ? queued.row : nil, step: step)
        case 409? where call.key != nil, 500?, nil: queued.wasSent = true
        default: queued.outcome = .refused
        }
        pieces[tag]?.calls[index] = queued
    }
}
