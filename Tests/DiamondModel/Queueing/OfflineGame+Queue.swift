import Diamond
import DiamondModel
import DiamondTestSupport

/// The steps that load objects, replay calls and end programs.
extension OfflineGame {
    // MARK: Loading

    func loadList() async throws {
        let policies = [CachePolicy.revalidate, .revalidate, .networkElseCache, .cacheOnly]
        let policy = policies[random.below(4)]
        let open = live.keys.filter { tag in
            (live[tag] as? OfflineAlbum)?.serverID != nil && twin.rows[tag] != nil && !twin.isHidden(tag)
        }.sorted()
        guard random.below(2) == 0, !open.isEmpty else {
            let isMore = random.below(3) == 0 && albums.hasMore
            log.append("load albums \(isMore ? "more" : "\(policy.mode)")")
            let error = await failure {
                try await albums.load(policy: isMore ? .revalidate : policy, more: isMore)
            }
            return finishLoad("", isFirst: !isMore, error)
        }
        let tag = open[random.below(open.count)]
        guard let list = trackList(tag) else { return }
        log.append("load tracks of \(tag) \(policy.mode)")
        let error = await failure { try await list.load(policy: policy) }
        finishLoad(tag, isFirst: true, error)
    }

    func finishLoad(_ list: String, isFirst: Bool, _ error: (any Error)?) {
        let answered = receiveLists().last { $0.status == 200 }
        twin.endLoad(of: list)
        if let answered {
            if let error { twin.violate("the load of \(list) has thrown \(error)") }
            twin.load(list, answered.tags, isFirst: isFirst)
        } else if error == nil, isFirst {
            twin.loadStored(list)
        }
    }

    func loadObject() async throws {
        guard let piece = visiblePiece(), piece.serverID != nil else { return }
        log.append("load \(piece.tag)")
        let error = await failure { try await piece.load(policy: .revalidate) }
        let isAnswered = receiveLists().last?.status == 200
        twin.endLoad(of: twin.pieces[piece.tag]?.parent ?? "")
        if isAnswered != (error == nil) { twin.violate("load \(piece.tag): \(text(error))") }
        if isAnswered, let values = twin.server[piece.tag] { twin.read(piece.tag, values, at: twin.step) }
    }

    // MARK: The queue

    func collect() async throws {
        log.append("collect")
        twin.hasRead = true
        twin.knowsTracks = true
        let saves = try await program.context.collectSaves(of: OfflineAlbum.self, OfflineTrack.self)
        for case let piece as OfflinePiece in saves.map(\.model) where live[piece.tag] == nil {
            live[piece.tag] = piece
        }
        for tag in twin.collect() where live[tag] == nil && !twin.isHidden(tag) {
            twin.violate("\(tag) was created, and collecting does not return it")
        }
    }

    func replay() async throws {
        let isOther = random.below(2) == 0
        log.append(isOther ? "another engine replays" : "replay")
        let sender = isOther ? try server.start(as: twin.user) : program
        for job in try sender.queue.jobs(ReplayFilter(states: [.waiting])) { try await sender.queue.retry(job.id) }
        await (try sender.engine.replayer()).replay()
        if isOther { await sender.engine.close() }
        receive()
    }

    /// Restores the new objects without their lists.
    func restore() async throws {
        log.append("restore")
        twin.hasRead = true
        twin.knowsTracks = true
        for album in try await program.context.queuedModels(OfflineAlbum.self) { live[album.tag] = album }
        for track in try await program.context.queuedModels(OfflineTrack.self) {
            live[track.tag] = track
            guard let parent = twin.pieces[track.tag]?.parent, let list = trackList(parent) else { continue }
            _ = try? list.add(track)
        }
        for (tag, piece) in twin.pieces where twin.waiting(in: piece.parent ?? "").contains(tag) {
            if twin.rows[tag] == nil { twin.rows[tag] = OfflineTwin.Row(base: nil, step: twin.step) }
        }
    }

    /// Ends the program, in good order or not, and starts another one.
    func restart() async throws {
        let isKilled = random.below(2) == 0
        let user = random.below(5) == 0 ? (twin.user == "anna" ? "ben" : "anna") : twin.user
        log.append("\(isKilled ? "kill" : "restart"), \(user)")
        if !isKilled { await program.engine.close() }
        try await start(as: user)
        if random.below(2) == 0 { try await collect() }
    }

    func start(as user: String, replays: Engine.Configuration.Replays = .manually) async throws {
        // Nothing of the old program is called or awaited any more.
        (live, tracks) = ([:], [:])
        program = try server.start(as: user, replays: replays)
        openAlbums()
        twin.restart(as: user)
        try await program.queue.release(.identity(user))
    }

    /// Another user signs in while the program runs. Its objects belong to the first one.
    func signOut() async throws {
        let other = twin.user == "anna" ? "ben" : "anna"
        log.append("sign in \(other)")
        program.session.signIn(random.below(2) == 0 ? other : nil)
        if let piece = visiblePiece(), twin.rows[piece.tag]?.base != nil {
            let waiting = try program.queue.count(ReplayFilter(states: [.ready, .waiting, .held, .running]))
            let (values, mode) = (newValues(), newMode())
            log.append("save \(mode) \(piece.tag)")
            let error = await failure { try await piece.save(mode) { $0.setValues(values) } }
            if (error as? ModelError)?.code != .otherIdentity {
                twin.violate("another user's save: \(text(error))")
            }
            let now = try program.queue.count(ReplayFilter(states: [.ready, .waiting, .held, .running]))
            if now != waiting { twin.violate("another user's save was queued") }
        }
        await program.engine.close()
        try await start(as: other)
    }
}
