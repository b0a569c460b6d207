import Diamond
import DiamondModel

/// The comparison of the program with the twin.
extension OfflineGame {
    /// Compares what the program shows with the twin. A context may learn by a task of its own what has changed.
    func check() async {
        receive()
        var differences = differences()
        for _ in 0..<200 where !differences.isEmpty {
            await Task.yield()
            differences = self.differences()
        }
        for difference in differences { twin.violate("step \(twin.step): \(difference)") }
    }

    func differences() -> [String] {
        var differences: [String] = []
        for (name, members) in shownLists() {
            let known = members.filter { !twin.isShownTwice($0.tag) || $0.isNew }
            let tags = known.map(\.tag)
            for piece in known {
                if let other = live[piece.tag], other !== piece { differences.append("two objects are \(piece.tag)") }
                live[piece.tag] = live[piece.tag] ?? piece
            }
            if Set(tags).count < tags.count { differences.append("list \(name) has an object twice: \(tags.sorted())") }
            let missing = (twin.lists[name] ?? []).subtracting(tags)
            if !missing.isEmpty { differences.append("list \(name) lacks \(missing.sorted())") }
            let hidden = twin.hidden.intersection(tags).filter { !twin.isShownTwice($0) }
            if !hidden.isEmpty { differences.append("list \(name) shows \(hidden.sorted())") }
        }
        let count = program.context.waiting.count
        if twin.hasRead, count != twin.waitingCount {
            differences.append("\(count) objects wait, not \(twin.waitingCount)")
        }
        for (tag, piece) in live.sorted(by: { $0.key < $1.key }) {
            guard let row = twin.rows[tag] else {
                live[tag] = nil
                continue
            }
            if twin.isHidden(tag) { continue }
            differences += self.differences(of: piece, tag, row)
        }
        return differences
    }

    /// The lists that the user sees.
    func shownLists() -> [(name: String, members: [OfflinePiece])] {
        var lists: [(name: String, members: [OfflinePiece])] = [("", albums.allModels)]
        for (tag, list) in tracks.sorted(by: { $0.key < $1.key }) where twin.rows[tag] != nil && !twin.isHidden(tag) {
            lists.append((tag, list.allModels))
        }
        return lists
    }

    func differences(of piece: OfflinePiece, _ tag: String, _ row: OfflineTwin.Row) -> [String] {
        var differences: [String] = []
        let values: Values = ["text": .string(piece.text), "stars": JSONValue(piece.stars)]
        for (name, value) in values where !twin.shown(name, of: tag).contains(value) {
            differences.append("\(tag).\(name) is \(value), not \(twin.shown(name, of: tag))")
        }
        let calls = twin.calls(tag)
        if piece.hasQueuedSaves == calls.isEmpty { differences.append("\(tag).hasQueuedSaves is \(calls.isEmpty)") }
        if let state = twin.state(tag), piece.saveState.name != state {
            differences.append("\(tag).saveState is \(piece.saveState), not \(state)")
        }
        let isCreated = calls.contains { $0.kind == .create && !$0.isOpen }
        if !isCreated, piece.isNew != (row.base == nil) { differences.append("\(tag).isNew is \(piece.isNew)") }
        if let isDirty = twin.isDirty(tag), piece.isDirty != isDirty {
            differences.append("\(tag).isDirty is \(piece.isDirty)")
        }
        return differences
    }
}

extension SaveState {
    fileprivate var name: String {
        switch self {
        case .saved: "saved"
        case .unsaved: "unsaved"
        case .waiting: "waiting"
        case .sending: "sending"
        case .needsReview: "needsReview"
        case .failed: "failed"
        }
    }
}
