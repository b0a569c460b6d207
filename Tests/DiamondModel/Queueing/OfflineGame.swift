import Diamond
import DiamondTestSupport
import Foundation

@testable import DiamondModel

/// A user and a program that do anything in any order, with an unreliable server, and the twin that says what has to be
/// shown after each step.
@ModelActor
final class OfflineGame {
    typealias Values = OfflineTwin.Values

    let server: OfflineServer
    var twin = OfflineTwin()
    var random: SplitMix
    var program: OfflineServer.Program
    var albums: ModelCollection<OfflineAlbum>
    var tracks: [String: ModelCollection<OfflineTrack>] = [:]
    /// The objects that the program retains, by tag.
    var live: [String: OfflinePiece] = [:]
    var lastValue = 0
    var log: [String] = []

    init(seed: UInt64) throws {
        random = SplitMix(state: seed)
        server = OfflineServer(seed: seed)
        program = try server.start(as: "anna")
        albums = ModelCollection(context: program.context)
        twin.restart(as: "anna")
        openAlbums()
    }

    /// The differences between the twin and the program, and between the twin and the server.
    var violations: [String] { twin.violations + server.withState { $0.violations } }

    func openAlbums() {
        albums = ModelCollection(context: program.context)
        albums.source = PageSource(program.engine, Request("albums"), paging: .page(size: 4))
    }

    /// Returns the list of an album's tracks; `nil` if the album is not shown.
    func trackList(_ tag: String) -> ModelCollection<OfflineTrack>? {
        guard let album = live[tag] as? OfflineAlbum else { return nil }
        let list = tracks[tag] ?? ModelCollection<OfflineTrack>(context: program.context)
        tracks[tag] = list
        let url = "albums/\(album.modelID)/tracks"
        if list.source?.request?.url != url { list.source = PageSource(program.engine, Request(url)) }
        return list
    }

    // MARK: Steps

    /// Plays until the end, or until something is wrong.
    func play(steps: Int) async {
        do {
            for _ in 0..<steps where violations.isEmpty { try await move() }
            if violations.isEmpty { try await end() }
        } catch {
            twin.violate("step \(twin.step) has thrown \(error)")
        }
    }

    private func move() async throws {
        twin.step += 1
        let step = twin.step
        server.withState { $0.step = step }
        server.advance(by: .seconds(1))
        switch random.below(100) {
        case 0..<14: edit()
        case 14..<34: try await save()
        case 34..<46: try await create()
        case 46..<53: try await destroy()
        case 53..<64: try await loadList()
        case 64..<67: try await loadObject()
        case 67..<74: try await collect()
        case 74..<82: try await replay()
        case 82..<88:
            let isOnline = server.withState { state in
                state.isOnline.toggle()
                return state.isOnline
            }
            log.append(isOnline ? "online" : "offline")
        case 88..<91:
            let faults = [0, 30, 70][random.below(3)]
            server.withState { $0.faults = faults }
            log.append("faults \(faults)")
        case 91..<93: try await restore()
        case 93..<99: try await restart()
        default: try await signOut()
        }
        await check()
    }

    func newValues() -> Values {
        lastValue += 1
        switch random.below(3) {
        case 0: return ["text": .string("t\(lastValue)")]
        case 1: return ["stars": JSONValue(lastValue)]
        default: return ["text": .string("t\(lastValue)"), "stars": JSONValue(lastValue)]
        }
    }

    func newMode() -> SaveMode {
        [SaveMode.queued, .queued, .queued, .queuedInBackground, .queuedInBackground, .optimistic, .wait][
            random.below(7)]
    }

    /// Returns an object that the user sees.
    func visiblePiece() -> OfflinePiece? {
        let members = shownLists().flatMap(\.members)
        let pieces = members.filter { piece in
            live[piece.tag] === piece && twin.rows[piece.tag]?.others.isEmpty == true && !twin.isHidden(piece.tag)
        }.sorted { $0.tag < $1.tag }
        return pieces.isEmpty ? nil : pieces[random.below(pieces.count)]
    }

    /// Waits until no call is being sent.
    func settle() async throws {
        let queue = program.queue
        try await untilTrue { try queue.counts()[.running] ?? 0 == 0 }
    }

    /// Passes the calls that have reached the server to the twin.
    @discardableResult
    func receive(
        direct: OfflineTwin.DirectCall? = nil
    ) -> [(tag: String, isAccepted: Bool, call: OfflineServer.Call)] {
        server.takeCalls().compactMap { call in
            log.append("  \(call.method) \(call.path): \(call.fate) \(call.status ?? 0)")
            if call.method == "GET" { return nil }
            return twin.receive(call, direct: direct).map { (tag: $0.tag, isAccepted: $0.isAccepted, call: call) }
        }
    }

    func receiveLists() -> [OfflineServer.Call] {
        let calls = server.takeCalls()
        for call in calls {
            log.append("  \(call.method) \(call.path): \(call.fate) \(call.status ?? 0) \(call.tags)")
            if call.method != "GET" { twin.receive(call, direct: nil) }
        }
        return calls.filter { $0.method == "GET" }
    }

    func text(_ error: (any Error)?) -> String { error.map { "\($0)" } ?? "nothing" }

    func failure(_ body: () async throws -> Void) async -> (any Error)? {
        do { try await body() } catch {
            log.append("  \(error)")
            return error
        }
        return nil
    }

    // MARK: The end

    /// The server works, and each user's program sends all that waits.
    private func end() async throws {
        log.append("end")
        twin.step += 1
        server.withState { state in (state.isOnline, state.faults) = (true, 0) }
        for user in [twin.user == "anna" ? "ben" : "anna", twin.user] {
            if user != twin.user { try await start(as: user) }
            for _ in 0..<6 {
                server.advance(by: .seconds(1))
                twin.step += 1
                if random.below(8) == 0 { try await replayAutomatically() } else { try await replay() }
                try await collect()
                await check()
            }
        }
        let open = twin.pieces.filter { tag, piece in !piece.calls.isEmpty && !isStuck(tag) }
        if !open.isEmpty { twin.violate("not sent at the end: \(open.keys.sorted())") }
        compareServer()
        await program.engine.close()
    }

    /// Starts a program whose context applies the answers by itself.
    func replayAutomatically() async throws {
        log.append("automatically")
        await program.engine.close()
        try await start(as: twin.user, replays: .automatically)
        // Now the context knows the classes.
        try await restore()
        let (server, queue, user) = (server, program.queue, twin.user)
        for job in try queue.jobs(ReplayFilter(states: [.waiting])) { try? await queue.retry(job.id) }
        try await untilTrue {
            server.advance(by: .seconds(1))
            return try queue.jobsStoringAnswers().allSatisfy { job, isConsumed in
                isConsumed || job.identity != user || job.reason == .creationFailed
            }
        }
        receive()
        twin.collect()
        await check()
        await program.engine.close()
        try await start(as: user)
    }

    /// Whether the calls of an object wait for an album whose creation was refused, and that nobody has saved again.
    func isStuck(_ tag: String) -> Bool {
        guard let piece = twin.pieces[tag], let parent = piece.parent.flatMap({ twin.pieces[$0] }) else { return false }
        return piece.id == nil && parent.id == nil && !parent.calls.contains { $0.kind == .create }
    }

    func compareServer() {
        let rows = server.withState { $0.rows }
        var found: [String: Values] = [:]
        for (id, row) in rows {
            guard case .string(let tag)? = row["tag"] else { continue }
            if found[tag] != nil { twin.violate("\(tag) was created twice") }
            found[tag] = row
            if twin.pieces[tag]?.id.map({ $0 != id }) ?? false { twin.violate("\(tag) has the id \(id)") }
            let values = row.filter { $0.key != "id" && $0.key != "album" }
            if values != twin.server[tag] { twin.violate("\(tag) is \(values), not \(twin.server[tag] ?? [:])") }
        }
        for tag in twin.server.keys where found[tag] == nil { twin.violate("the server has no \(tag)") }
    }
}
