import Crypto
import DiamondSQLite
import Foundation

/// The directories of the jobs that spill while one server cannot be reached: `replay.spill/SERVER/1`, `2` and so on,
/// next to the `replay.sqlite` of a store.
///
/// Each engine has one of them until it is closed, by a lock on a file in it. The kernel releases the lock however the
/// process ends. Each server has its own directories, because the ids of jobs are known to one server only.
struct SpillDirectories: Sendable {
    /// A directory whose lock this process has.
    struct Taken: Sendable {
        let storage: SQLiteReplayStorage
        let lock: FileLock
    }

    private let store: Store
    private let directory: URL
    private let seal: (any CacheSeal)?
    private let clock: ReplayClock

    /// - Parameters:
    ///   - store: the engine's store.
    ///   - server: the name of the server, without a password.
    ///   - seal: the seal of the spilled jobs; `nil` for none.
    ///   - clock: the clock of the queue.
    init(of store: Store, server: String, seal: (any CacheSeal)?, clock: ReplayClock) {
        self.store = store
        // File names are short, and names of servers may be long.
        let digest = Hex.text(of: SHA256.hash(data: Data(server.utf8)).prefix(6))
        directory = store.spillDirectory.appendingPathComponent("\(Store.fileName(server).prefix(100))-\(digest)")
        self.seal = seal
        self.clock = clock
    }

    /// The numbers of the directories that exist.
    var numbers: [Int] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        return names.compactMap { Int($0) }.sorted()
    }

    private func store(_ number: Int) -> Store {
        var store = Store(directory: directory.appendingPathComponent("\(number)"))
        store.vfs = self.store.vfs
        return store
    }

    private func hasQueue(_ number: Int) -> Bool { (try? store(number).hasQueue()) ?? false }

    /// Takes the first directory that no other engine has. One that exists, and cannot be opened, is left out: it may
    /// be damaged, or sealed with another key.
    ///
    /// - Throws: ``ReplayError``, before a directory is created, if the seal fails or an existing directory may be
    ///   opened later.
    func take() throws(ReplayError) -> Taken {
        try trySeal()
        var number = 1
        while true {
            let isNew = !hasQueue(number)
            do throws(ReplayError) {
                if isNew { try create(number) }
                if let taken = try open(number) { return taken }
            } catch {
                // A seal that works has another key.
                guard !isNew, !error.isTransient || error.code == .cannotSeal else { throw error }
            }
            number += 1
        }
    }

    /// - Throws: ``ReplayError``: `cannotSeal` if the seal fails, such as while the keychain is locked.
    private func trySeal() throws(ReplayError) {
        guard let seal else { return }
        do { _ = try seal.seal(Data(), context: Data("diamond 1 spill".utf8)) } catch {
            throw ReplayError(SQLiteError(cannotSeal: error, path: directory.path))
        }
    }

    func path(of number: Int) -> String { store(number).replayDirectory.path }

    /// Moves the jobs of a directory to the server, unless an engine has it, and deletes those that were moved.
    ///
    /// The directory itself stays. Without it, an engine that has just opened the file of its lock would have a lock
    /// that no other one sees.
    ///
    /// - Parameters:
    ///   - number: the number of the directory.
    ///   - remote: the storage on the server.
    ///   - report: receives the errors of jobs that the server refuses.
    /// - Returns: whether no engine has it.
    func rescue(
        _ number: Int, to remote: any ReplayStorage, reportingRefusal report: (ReplayError) -> Void
    ) async throws(ReplayError) -> Bool {
        guard hasQueue(number) else { return true }
        // The lock is released at once: a new engine would take another directory, and its jobs would overtake these.
        guard try Self.lock(store(number)) != nil else { return false }
        let storage = try look(into: number)
        let isNeeded = try Self.move(from: storage, to: remote).isNeeded
        let doneCount = try Self.doneCount(in: storage)
        guard isNeeded || doneCount > 0 else { return true }
        // The server may have to be waited for.
        if isNeeded { _ = try await remote.reserveIDs(1) }
        guard let taken = try open(number) else { return false }
        defer { withExtendedLifetime(taken) {} }
        let move = Self.move(from: taken.storage, to: remote)
        for refusal in move.refusals(in: try await move.run()) { report(refusal) }
        try await Self.deleteDone(in: taken.storage)
        return true
    }

    private static func doneCount(in storage: SQLiteReplayStorage) throws(ReplayError) -> Int {
        try storage.count(ReplayFilter(states: [.done], includesSignedOut: true))
    }

    /// Deletes and overwrites the jobs that were moved. Those that held jobs wait for stay.
    private static func deleteDone(in storage: SQLiteReplayStorage) async throws(ReplayError) {
        let count = try doneCount(in: storage)
        var retention = ReplayRetention()
        retention.done = ReplayRetention.Limit(age: .zero, count: 0)
        try await storage.maintain(retention)
        if try doneCount(in: storage) < count { try await storage.writer.overwriteErased() }
    }

    private static func move(from storage: SQLiteReplayStorage, to remote: any ReplayStorage) -> ReplayMove {
        // No engine is about to add jobs.
        ReplayMove(from: storage, to: remote, maximumCount: .max, includesHeld: false) { _ in false }
    }

    /// Erases the jobs of an identity in all directories but an engine's own one.
    ///
    /// - Throws: ``ReplayError``: `busy` if another engine has open jobs that are to be erased, and may be moving them.
    func eraseJobs(
        of identity: String, discardingOpen discardsJobs: Bool, besides own: Store?
    ) async throws(ReplayError) {
        var failure: ReplayError?
        for number in numbers where hasQueue(number) && store(number).directory != own?.directory {
            do throws(ReplayError) {
                try await eraseJobs(of: identity, discardingOpen: discardsJobs, in: number)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    private func eraseJobs(
        of identity: String, discardingOpen discardsJobs: Bool, in number: Int
    ) async throws(ReplayError) {
        if let taken = try open(number) {
            defer { withExtendedLifetime(taken) {} }
            return try await taken.storage.eraseJobs(of: identity, discardingOpen: discardsJobs)
        }
        // Jobs that have ended are not moved.
        let storage = try look(into: number)
        try await storage.eraseJobs(of: identity, discardingOpen: false)
        let open = ReplayFilter(states: Set(ReplayState.allCases.filter { !$0.isEnd }), identity: identity)
        let count = discardsJobs ? try storage.count(open) : 0
        guard count == 0 else {
            throw ReplayError(
                .busy,
                "\(storage.name): its engine is about to move jobs of the identity: erase them when it has moved them")
        }
    }

    /// Opens a directory without its lock.
    private func look(into number: Int) throws(ReplayError) -> SQLiteReplayStorage {
        try SQLiteReplayStorage(store(number), seal: seal, clock: clock, create: false, seals: false)
    }

    private func create(_ number: Int) throws(ReplayError) {
        let own = store(number).replayDirectory
        do throws(CacheError) {
            for place in [store.replayDirectory, store.spillDirectory, directory, own] { try store.create(place) }
        } catch {
            throw ReplayError(.cannotOpen, error.message)
        }
    }

    /// Opens a directory; returns `nil` if another engine has it.
    private func open(_ number: Int) throws(ReplayError) -> Taken? {
        let store = store(number)
        guard let lock = try Self.lock(store) else { return nil }
        let storage = try SQLiteReplayStorage(store, seal: seal, clock: clock, create: true, seals: true)
        return Taken(storage: storage, lock: lock)
    }

    /// Takes the lock of a directory; returns `nil` if another engine has it.
    static func lock(_ store: Store) throws(ReplayError) -> FileLock? {
        do throws(SQLiteError) { return try FileLock(store.spillLockPath, timeout: .zero) } catch {
            if error.code == .busy { return nil }
            throw ReplayError(error)
        }
    }
}

extension Store {
    /// The path of the lock of the engine whose jobs spill into this store.
    fileprivate var spillLockPath: String {
        replayDirectory.appending(path: "replay.lock", directoryHint: .notDirectory).path
    }
}
