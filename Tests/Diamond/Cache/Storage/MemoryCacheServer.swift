import Diamond
import DiamondTesting
import Foundation
import Synchronization

/// A cache storage in memory, as a driver outside of this package would write one: it sees public API only.
final class MemoryCacheServer: CacheStorageSuite.Place {
    fileprivate struct Slot {
        var head: Data
        var isStale: Bool
        var isPinned: Bool
        var chunks: [Data]

        func record(bodyLimit: Int = 0) -> CacheRecord? {
            guard let head = CacheRecord(head: head, isStale: isStale, isPinned: isPinned) else { return nil }
            return head.bodySize <= bodyLimit ? head.with(chunks: chunks) : head
        }
    }

    fileprivate struct Announcement {
        let process: Int
        let names: ChangedNames?
    }

    fileprivate struct State {
        var slots: [RequestKey: Slot] = [:]
        /// The leases by their keys and names.
        var leases: [[String]: (token: UInt64, end: ContinuousClock.Instant)] = [:]
        /// The position of each is its index plus one.
        var announcements: [Announcement] = []
        var processes = 0
        var failure: CacheError?
        var isStalled = false
        var losesChunks = false
        var pageLimit = Int.max
        /// The number of verbs that were called, and of those that have waited for the end of a stall.
        var calls = 0
    }

    fileprivate let state = Mutex(State())
    let secret = Data(repeating: 7, count: 32)
    /// Whether it refuses leases.
    let refusesLeases: Bool

    init(refusesLeases: Bool = false) { self.refusesLeases = refusesLeases }

    /// The error that each verb throws.
    var failure: CacheError? {
        get { state.withLock { $0.failure } }
        set { state.withLock { $0.failure = newValue } }
    }

    /// Whether verbs do not return.
    var isStalled: Bool {
        get { state.withLock { $0.isStalled } }
        set { state.withLock { $0.isStalled = newValue } }
    }

    /// Whether chunks that are read apart from their records are gone.
    var losesChunks: Bool {
        get { state.withLock { $0.losesChunks } }
        set { state.withLock { $0.losesChunks = newValue } }
    }

    /// The greatest number of records in a page, as if others of a full page were damaged.
    var pageLimit: Int {
        get { state.withLock { $0.pageLimit } }
        set { state.withLock { $0.pageLimit = newValue } }
    }

    /// The number of verbs that were called.
    var calls: Int { state.withLock { $0.calls } }

    /// The bytes of all heads and chunks.
    var bytes: [Data] { state.withLock { $0.slots.values.flatMap { [$0.head] + $0.chunks } } }

    func open() -> any CacheStorage {
        MemoryCacheStorage(
            server: self,
            process: state.withLock { state in
                state.processes += 1
                return state.processes
            })
    }

    /// Changes the chunks of all records.
    func damageChunks() {
        state.withLock { state in
            for key in state.slots.keys { state.slots[key]?.chunks = [Data("damaged".utf8)] }
        }
    }

    /// Runs a verb.
    fileprivate func run<Value>(_ body: (inout State) throws(CacheError) -> Value) async throws(CacheError) -> Value {
        state.withLock { $0.calls += 1 }
        while isStalled { await Task.yield() }
        let result = state.withLock { state -> Result<Value, CacheError> in
            if let failure = state.failure { return .failure(failure) }
            do throws(CacheError) { return .success(try body(&state)) } catch { return .failure(error) }
        }
        return try result.get()
    }
}

private struct MemoryCacheStorage: LeasingCacheStorage {
    let server: MemoryCacheServer
    let process: Int

    var name: String { "memory" }
    var secret: Data { server.secret }

    func records(under key: RequestKey, bodyLimit: Int) async throws(CacheError) -> [CacheRecord] {
        try await server.run { state in
            state.slots.values.compactMap { $0.record(bodyLimit: bodyLimit) }
                .filter { $0.key == key || $0.requestKey == key }
        }
    }

    func chunks(_ numbers: Range<Int>, of record: CacheRecord) async throws(CacheError) -> [Data]? {
        try await server.run { state in
            guard !state.losesChunks, let slot = state.slots[record.key], slot.record()?.bodyID == record.bodyID else {
                return nil
            }
            return Array(slot.chunks[numbers.clamped(to: 0..<slot.chunks.count)])
        }
    }

    func changes(since position: ChangePosition?) -> CacheChanges {
        server.state.withLock { state in
            let end = state.announcements.count
            var names: ChangedNames? = ChangedNames()
            for announcement in state.announcements[(position.map { Int($0.rawValue) } ?? end)...] {
                if let new = announcement.names { names?.formUnion(new) } else { names = nil }
            }
            return CacheChanges(position: ChangePosition(rawValue: Int64(end)), names: names)
        }
    }

    func write(_ batch: CacheBatch) async throws(CacheError) -> CacheOutcome {
        try await server.run { state in
            CacheOutcome(vanished: batch.steps.filter { !make($0, in: &state) }.map(\.key))
        }
    }

    /// - Returns: whether the record is that of the step, and not stale.
    private func make(_ step: CacheStep, in state: inout MemoryCacheServer.State) -> Bool {
        let slot = state.slots[step.key]
        let old = slot?.record()
        switch step {
        case .store(let record):
            if let old, old.isNewer(than: record) { return false }
            let isOutdated =
                record.knownPosition.map { position in
                    state.announcements[Int(position.rawValue)...].contains { announcement in
                        announcement.process != process && record.isOutdated(by: announcement.names)
                    }
                } ?? false
            state.slots[record.key] = MemoryCacheServer.Slot(
                head: record.head, isStale: record.isStale || isOutdated, isPinned: slot?.isPinned ?? false,
                chunks: record.chunks)
            if slot != nil { announce(ChangedNames(record.key), in: &state) }
            return !isOutdated
        case .confirm(let confirmation):
            guard let old, let new = confirmation.record(replacing: old) else { return false }
            state.slots[step.key]?.head = new.head
            state.slots[step.key]?.isStale = new.isStale
            announce(ChangedNames(step.key), in: &state)
            return true
        case .erase(let key, let everywhere):
            if state.slots.removeValue(forKey: key) != nil || everywhere { announce(ChangedNames(key), in: &state) }
            return true
        }
    }

    private func announce(_ names: ChangedNames?, in state: inout MemoryCacheServer.State) {
        state.announcements.append(MemoryCacheServer.Announcement(process: process, names: names))
    }

    /// Returns the records that are in each of some groups of selections.
    private func records(in groups: [[CacheSelection]], _ state: MemoryCacheServer.State) -> [CacheRecord] {
        let conditions = groups.map { $0.map(\.condition) }
        return state.slots.values.compactMap { $0.record() }.filter { record in
            conditions.allSatisfy { $0.contains { $0.includes(record) } }
        }
    }

    func invalidate(
        _ selections: [CacheSelection], announcing names: ChangedNames?
    ) async throws(CacheError) -> CacheRecordCount {
        try await server.run { state in
            var count = CacheRecordCount()
            for record in records(in: [selections], state) where !record.isStale {
                state.slots[record.key]?.isStale = true
                count.add(isResponse: record.isResponse)
            }
            announce(names, in: &state)
            return count
        }
    }

    func erase(
        _ selections: [CacheSelection], announcing names: ChangedNames?
    ) async throws(CacheError) -> CacheRecordCount {
        try await server.run { state in
            var count = CacheRecordCount()
            for record in records(in: [selections], state) {
                state.slots[record.key] = nil
                count.add(isResponse: record.isResponse)
            }
            announce(names, in: &state)
            return count
        }
    }

    func setPinned(_ isPinned: Bool, for key: RequestKey) async throws(CacheError) -> Bool {
        try await server.run { state in
            state.slots[key]?.isPinned = isPinned
            return state.slots[key] != nil
        }
    }

    func list(
        _ groups: [[CacheSelection]], by order: CacheOrder, after cursor: CacheCursor?, limit: Int
    ) async throws(CacheError) -> [CacheRecord] {
        try await server.run { state in
            let rest = records(in: groups, state).filter { cursor?.isBefore($0) ?? true }
            return rest.page(by: order, limit: min(limit, state.pageLimit))
        }
    }

    func count(_ selections: [CacheSelection], onlyValid: Bool) async throws(CacheError) -> Int {
        try await server.run { state in
            records(in: [selections], state).count { $0.isResponse && !(onlyValid && $0.isStale) }
        }
    }

    func totals() async throws(CacheError) -> CacheTotals {
        try await server.run { state in
            let all = records(in: [], state)
            return CacheTotals(
                entries: all.count(where: \.isResponse), bodyBytes: all.reduce(0) { $0 + Int64($1.bodySize) })
        }
    }

    func take(_ lease: CacheLease, for time: Duration) async throws(CacheError) -> Bool {
        guard !server.refusesLeases else { throw CacheError(.other, "no leases") }
        return try await server.run { state in
            if token(of: lease, state) != nil { return false }
            state.leases[["\(lease.key)", lease.name]] = (lease.token, .now + time)
            return true
        }
    }

    func isTaken(_ lease: CacheLease) async throws(CacheError) -> Bool {
        try await server.run { state in token(of: lease, state) != nil }
    }

    func end(_ lease: CacheLease) async throws(CacheError) {
        try await server.run { state in
            if token(of: lease, state) == lease.token { state.leases[["\(lease.key)", lease.name]] = nil }
        }
    }

    private func token(of lease: CacheLease, _ state: MemoryCacheServer.State) -> UInt64? {
        state.leases[["\(lease.key)", lease.name]].flatMap { $0.end > .now ? $0.token : nil }
    }
}
