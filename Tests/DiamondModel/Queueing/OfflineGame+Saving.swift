import Diamond
import DiamondModel
import DiamondTestSupport

/// The steps that change objects.
extension OfflineGame {
    func edit() {
        guard let piece = visiblePiece() else { return }
        let values = newValues()
        log.append("edit \(piece.tag) \(values)")
        piece.setValues(values)
        twin.edit(piece.tag, values)
    }

    func save() async throws {
        guard let piece = visiblePiece() else { return }
        let tag = piece.tag
        let values = random.below(4) > 0 ? newValues() : [:]
        guard let mode = newMode(for: tag, in: twin.pieces[tag]?.parent) else { return }
        log.append("save \(mode) \(tag) \(values)")
        twin.use(tag)
        let isQueued =
            mode.queues || !twin.calls(tag).isEmpty || twin.waitsForParent(tag) || twin.isAwaited(tag)
        server.withState { $0.losesPosts = isQueued }
        let actual: Values = ["text": .string(piece.text), "stars": JSONValue(piece.stars)]
        let error = await failure { try await piece.save(mode) { $0.setValues(values) } }
        try await settle()
        guard isQueued else { return finishDirect(tag, values, error) }
        twin.collect(tag)
        let before = OfflineTwin.defaults.keys.reduce(into: Values()) { before, name in
            let shown = twin.shown(name, of: tag)
            before[name] = shown.count == 1 ? shown.first : actual[name]
        }
        twin.edit(tag, values)
        let isAdded = twin.enqueue(tag)
        receive()
        finish(tag, mode, isAdded: isAdded, error) { $0.undo(tag, before: before) }
    }

    /// Returns a mode for a save; `nil` for an object that cannot be saved now.
    func newMode(for tag: String, in parent: String?) -> SaveMode? {
        let mode = newMode()
        guard let parent, twin.rows[tag]?.base == nil, twin.rows[parent]?.base == nil else { return mode }
        // The object waits for its album, unless the answer is there and was not collected.
        guard let creation = twin.calls(parent).first(where: { $0.kind == .create }) else { return nil }
        return creation.isOpen || mode.queues ? mode : .queued
    }

    func finish(
        _ tag: String, _ mode: SaveMode, isAdded: Bool, _ error: (any Error)?, undo: (inout OfflineTwin) -> Void
    ) {
        var isRefused = false
        if mode != .queuedInBackground {
            isRefused = isAdded && twin.calls(tag).last?.isRefused == true
            if isRefused { undo(&twin) }
            twin.collect(tag)
        }
        if isRefused != (error != nil) { twin.violate("\(tag): refused \(isRefused), thrown \(text(error))") }
    }

    func finishDirect(_ tag: String, _ values: Values, _ error: (any Error)?) {
        guard let row = twin.rows[tag] else { return }
        var sent = row.edits.merging(values) { $1 }
        if row.base == nil { sent = ["tag": .string(tag)].merging(OfflineTwin.defaults) { $1 }.merging(sent) { $1 } }
        let call = OfflineTwin.DirectCall(tag: tag, kind: row.base == nil ? .create : .update, values: sent)
        let received = receive(direct: call)
        let answer = received.last { $0.tag == tag }
        let isSaved = sent.isEmpty || answer?.isAccepted == true
        if isSaved != (error == nil) { twin.violate("\(tag): saved \(isSaved), thrown \(text(error))") }
        guard isSaved, !sent.isEmpty else { return }
        let known = (row.base ?? OfflineTwin.defaults).merging(sent) { $1 }
        let base = answer?.call.fate == .answered ? twin.server[tag] : known
        twin.rows[tag] = OfflineTwin.Row(base: base, step: twin.step, others: row.others)
    }

    func create() async throws {
        let tag = "p\(twin.pieces.count + 1)"
        let parents = live.keys.filter { tag in
            live[tag] is OfflineAlbum && twin.rows[tag] != nil && !twin.isHidden(tag)
        }.sorted()
        let parent = random.below(2) == 0 || parents.isEmpty ? nil : parents[random.below(parents.count)]
        let values = newValues()
        guard let mode = newMode(for: tag, in: parent) else { return }
        twin.add(tag, to: parent, values)
        twin.use(tag)
        let isQueued = mode.queues || twin.waitsForParent(tag)
        server.withState { $0.losesPosts = isQueued }
        log.append("create \(mode) \(tag) in \(parent ?? "albums") \(values)")
        let piece: OfflinePiece
        let error: (any Error)?
        if let parent, let album = live[parent] as? OfflineAlbum, let list = trackList(parent) {
            let track = OfflineTrack()
            track.album = ParentReference(album)
            piece = track
            piece.setValues(values, tag: tag)
            error = await failure { try await list.create(track, mode) }
        } else {
            let album = OfflineAlbum()
            piece = album
            piece.setValues(values, tag: tag)
            error = await failure { try await albums.create(album, mode) }
        }
        live[tag] = piece
        try await settle()
        if isQueued {
            let isAdded = twin.enqueue(tag)
            receive()
            finish(tag, mode, isAdded: isAdded, error) { $0.drop(tag) }
        } else {
            finishDirect(tag, [:], error)
            if error != nil { twin.drop(tag) }
        }
    }

    func destroy() async throws {
        guard let piece = visiblePiece() else { return }
        let (tag, mode) = (piece.tag, newMode())
        log.append("destroy \(mode) \(tag)")
        twin.use(tag)
        let error = await failure { try await piece.destroy(mode) }
        try await settle()
        if mode.queues || !twin.calls(tag).isEmpty {
            twin.collect(tag)
            let isAdded = twin.enqueueDeletion(tag)
            receive()
            finish(tag, mode, isAdded: isAdded, error) { twin in twin.undo(tag, before: [:]) }
        } else if twin.rows[tag]?.base == nil {
            twin.discard(tag)
            if let error { twin.violate("destroy \(tag) has thrown \(error)") }
        } else {
            let call = OfflineTwin.DirectCall(tag: tag, kind: .destroy, values: [:])
            let answer = receive(direct: call).last { $0.tag == tag }
            let isGone = answer.map { $0.isAccepted || $0.call.status == 404 } ?? false
            if isGone { twin.drop(tag) }
            if isGone != (error == nil) { twin.violate("destroy \(tag): \(text(error))") }
        }
    }
}

extension SaveMode {
    fileprivate var queues: Bool { self == .queued || self == .queuedInBackground }
}
