import DiamondSQLite
import Dispatch
import Foundation

/// A storage on a server, behind a circuit: records are sealed before they are sent, and opened when they are read. The
/// thread that calls a verb waits for the server, except in ``load(_:)``.
final class RemoteCacheStorage: DirectCacheStorage {
    /// The longest wait of a lookup.
    static let lookupLimit = Duration.milliseconds(50)
    /// The longest wait of a write.
    private static let limit = Duration.seconds(2)
    /// The longest wait of a person's query, for which some servers read all records. It opens no circuit.
    private static let queryLimit = Duration.seconds(30)
    /// The bytes of a body that come with its record.
    private static let inlineBody = 1 << 20
    /// The largest body. It is stored and read as a whole.
    private static let largestBody = 16 << 20
    private static let pageSize = 1000

    let base: any CacheStorage
    /// The storage, if it has leases.
    let leasing: (any LeasingCacheStorage)?
    let coding: CacheCoding
    private let circuit: StorageCircuit
    private let clock: any Clock<Duration>
    private let activity: Activity
    private let executor = QueueExecutor()
    /// The most keys in `unstored`.
    private static let mostUnstored = 100_000
    /// The prefixes of the keys of entries that memory may have, and that were not stored because the server was out of
    /// reach; `nil` for too many.
    private let unstored = Guarded<Set<Int64>?>([])

    init(
        _ base: any CacheStorage, seal: (any CacheSeal)?, compresses: Bool, activity: Activity,
        clock: any Clock<Duration>, circuit: StorageCircuit
    ) {
        self.base = base
        leasing = base as? any LeasingCacheStorage
        self.clock = clock
        self.circuit = circuit
        self.activity = activity
        coding = CacheCoding(
            sealing: seal.map { Sealing($0, secret: base.secret) }, compresses: compresses, place: base.name)
    }

    var name: String { base.name }

    var secret: Data { base.secret }

    let generation = 0

    // MARK: Calling the server

    /// Returns the records under a key; none if the server does not return them in time. It suspends.
    func load(_ key: RequestKey) async -> [CacheRecord] {
        do throws(CacheError) {
            return try await call(within: Self.lookupLimit) { (base) async throws(CacheError) in
                var records = try await base.records(under: key, bodyLimit: Self.inlineBody)
                for index in records.indices where records[index].lacksChunks {
                    let chunks = try await base.chunks(0..<records[index].chunkCount, of: records[index])
                    records[index] = records[index].with(chunks: chunks ?? [])
                }
                // A record that was replaced or evicted meanwhile is a miss. It is not damaged.
                return records.filter { !$0.lacksChunks }
            }
        } catch {
            report(error)
            return []
        }
    }

    private func call<Value: Sendable>(
        within limit: Duration,
        _ body: @escaping @Sendable (any CacheStorage) async throws(CacheError) -> Value
    ) async throws(CacheError) -> Value {
        try checkCircuit()
        return try value(of: await TimeLimit(limit, by: clock).value { [base] in await Self.result(of: body, base) })
    }

    private static func result<Value>(
        of body: @Sendable (any CacheStorage) async throws(CacheError) -> Value, _ base: any CacheStorage
    ) async -> Result<Value, CacheError> {
        do throws(CacheError) { return .success(try await body(base)) } catch { return .failure(error) }
    }

    /// Calls the server while the calling thread waits. The call runs on threads of its own, because this may be one of
    /// the few on which tasks run.
    private func wait<Value: Sendable>(
        within limit: Duration = limit,
        _ body: @escaping @Sendable (any CacheStorage) async throws(CacheError) -> Value
    ) throws(CacheError) -> Value {
        try checkCircuit()
        let result = Guarded<Result<Value, CacheError>?>(nil)
        let isDone = DispatchSemaphore(value: 0)
        Task.detached(executorPreference: executor) { [base] in
            let value = await Self.result(of: body, base)
            result.withLock { $0 = value }
            isDone.signal()
        }
        _ = isDone.wait(timeout: .now() + .milliseconds(Int(limit.milliseconds)))
        let value = result.withLock { $0 }
        if value == nil, limit > Self.limit { throw unreachable }
        return try self.value(of: value)
    }

    private func checkCircuit() throws(CacheError) {
        switch circuit.admit() {
        case .pass: return
        case .refuse: break
        case .probe(let number): probe(number)
        }
        throw unreachable
    }

    private func probe(_ number: Int) {
        let limit = TimeLimit(Self.limit, by: clock)
        Task.detached { [base, circuit] in
            // A lookup, because some servers read all records for the totals.
            let isGood = await limit.value {
                (try? await base.records(under: RequestKey(of: []), bodyLimit: 0)) != nil
            }
            circuit.end(probe: number, isGood: isGood ?? false)
        }
    }

    /// - Parameter result: `nil` if the time was up.
    private func value<Value>(of result: Result<Value, CacheError>?) throws(CacheError) -> Value {
        switch result {
        case .success(let value): return value
        case .failure(let error) where error.code != .unreachable: throw error
        case .failure(let error): open(because: error.message)
        case nil: open(because: "\(name) does not answer")
        }
        throw unreachable
    }

    private func open(because reason: String) {
        if circuit.fail() { activity.report(.cacheFailed(reason: "\(reason): requests continue without the cache")) }
    }

    private var unreachable: CacheError { CacheError(.unreachable, "\(name) does not answer: try again") }

    private func report(_ error: CacheError) {
        if error.code != .unreachable { activity.report(.cacheFailed(reason: error.message)) }
    }

    // MARK: Lookups

    func records(under key: RequestKey, bodyLimit: Int) throws(CacheError) -> [CacheRecord] {
        try wait { (base) async throws(CacheError) in try await base.records(under: key, bodyLimit: bodyLimit) }
    }

    func chunks(_ numbers: Range<Int>, of record: CacheRecord) throws(CacheError) -> [Data]? {
        try wait { (base) async throws(CacheError) in try await base.chunks(numbers, of: record) }
    }

    // Without the server, anything may have changed. When it is back, it does not announce the changes of entries that
    // it does not have: memory drops them.
    func changes(since position: ChangePosition?) -> CacheChanges {
        var changes = (try? base.changes(since: position)) ?? CacheChanges(position: position ?? .start, names: nil)
        guard circuit.isClosed else { return changes }
        let dropped = unstored.withLock { unstored in
            defer { unstored = [] }
            return unstored
        }
        if let dropped { changes.names?.keys.formUnion(dropped) } else { changes.names = nil }
        return changes
    }

    // A storage returns a lost connection once, to the poll that drops the memory tier.
    func changesAtOnce(since position: ChangePosition) -> CacheChanges? { nil }

    // MARK: Leases

    /// Takes a lease; `nil` if the server does not grant or refuse it in time. It suspends.
    func take(_ lease: CacheLease, for time: Duration) async -> Bool? {
        let isAbandoned = Guarded(false)
        let isTaken = await ask { (base) async throws(CacheError) in
            let isTaken = try await base.take(lease, for: time)
            // Too late: its process does not know that it has it.
            if isTaken, isAbandoned.withLock({ $0 }) { try await base.end(lease) }
            return isTaken
        }
        if isTaken == nil { isAbandoned.withLock { $0 = true } }
        return isTaken
    }

    /// Whether any process has a lease; `false` also if the server does not answer in time. It suspends.
    func isTaken(_ lease: CacheLease) async -> Bool {
        await ask { (base) async throws(CacheError) in try await base.isTaken(lease) } ?? false
    }

    /// Ends a lease, if the server can be reached, also while the circuit is open: no request waits for it.
    func end(_ lease: CacheLease) async { try? await leasing?.end(lease) }

    // A failure is not reported: the request is sent, and its lookup or write reports a server that fails.
    private func ask<Value: Sendable>(
        _ body: @escaping @Sendable (any LeasingCacheStorage) async throws(CacheError) -> Value
    ) async -> Value? {
        guard let leasing else { return nil }
        return try? await call(within: Self.lookupLimit) { (_) async throws(CacheError) in try await body(leasing) }
    }

    // MARK: Writes

    let isLocal = false

    var canWriteImmediately: Bool { false }

    func prepare() {}

    func write(_ batch: CacheBatch) throws(CacheError) -> CacheOutcome {
        var outcome = CacheOutcome()
        if !batch.steps.isEmpty {
            do throws(CacheError) {
                outcome = try wait { (base) async throws(CacheError) in try await base.write(batch) }
            } catch {
                if error.code == .unreachable { didNotStore(batch) }
                throw error
            }
        }
        outcome.recording = .off
        return outcome
    }

    private func didNotStore(_ batch: CacheBatch) {
        unstored.withLock { unstored in
            unstored?.formUnion(batch.steps.map(\.key.prefix))
            if unstored?.count ?? 0 > Self.mostUnstored { unstored = nil }
        }
    }

    func invalidate(
        _ selections: [CacheSelection], announcing names: ChangedNames?
    ) throws(CacheError) -> CacheRecordCount {
        let parts = try parts(of: selections)
        return try wait(within: Self.limit(of: parts)) { (base) async throws(CacheError) in
            try await base.invalidate(parts, announcing: names)
        }
    }

    /// The longest wait of a change of some selections, for some of which servers read all records.
    private static func limit(of selections: [CacheSelection]) -> Duration {
        let isQuick = selections.allSatisfy { selection in
            switch selection.condition {
            case .all, .keys, .name: true
            case .urlPrefix, .storedBefore, .expired: false
            }
        }
        return isQuick ? limit : queryLimit
    }

    func invalidate(urls: [String]) throws(CacheError) {
        let selections = urls.flatMap { [.url($0), CacheSelection.tag(CacheEntry.name(ofAllLike: $0))] }
        _ = try invalidate(selections, announcing: ChangedNames(urls: Set(urls.map(coding.urlHash))))
    }

    func erase(_ selections: [CacheSelection], announcing names: ChangedNames?) throws(CacheError) -> CacheRecordCount {
        let parts = try parts(of: selections)
        return try wait(within: Self.limit(of: parts)) { (base) async throws(CacheError) in
            try await base.erase(parts, announcing: names)
        }
    }

    func eraseOutdated(_ selections: [CacheSelection], announcing names: ChangedNames?) throws(CacheError) {
        _ = try erase(selections, announcing: names)
    }

    // The server is asked when the outdated entries are erased.
    func stored(among keys: [RequestKey]) -> [RequestKey] { keys }

    func valid(urls: [String]) -> Set<String> { Set(urls) }

    func setPinned(_ isPinned: Bool, for key: RequestKey) throws(CacheError) -> Bool {
        try wait { (base) async throws(CacheError) in try await base.setPinned(isPinned, for: key) }
    }

    // MARK: Capacity

    /// The server has its own.
    var capacity: Int64 {
        get { .max }
        set {}
    }

    func isTooLarge(_ bodySize: Int) -> Bool { bodySize > Self.largestBody }

    func spend(_ bytes: Int64) -> Bool { false }

    var needsEviction: Bool { false }

    func evictSlice(_ pages: CachePages?) -> (count: Int, isMore: Bool) { (0, false) }

    func evict(to bytes: Int64) throws(CacheError) -> Int? {
        try wait(within: Self.queryLimit) { (base) async throws(CacheError) in try await base.evict(to: bytes) }
    }

    // MARK: Lists

    func list(
        _ groups: [[CacheSelection]], by order: CacheOrder, after cursor: CacheCursor?, limit: Int
    ) throws(CacheError) -> [CacheRecord] {
        try wait(within: Self.queryLimit) { (base) async throws(CacheError) in
            try await base.list(groups, by: order, after: cursor, limit: limit)
        }
    }

    func listings(
        _ selections: [CacheSelection], by order: CacheOrder, after cursor: CacheCursor?, limit: Int
    ) throws(CacheError) -> [CacheListing] {
        let tests = coding.sealing == nil ? [] : selections.compactMap(\.urlTest)
        let groups = selections.filter { tests.isEmpty || $0.urlTest == nil }.map(coding.alternatives)
        guard !tests.isEmpty || coding.sealing != nil && order == .url else {
            return try page(groups, by: order, after: cursor, limit: limit)
        }
        // The server knows the URLs of sealed records by their digests only.
        var all: [CacheListing] = []
        try forEachPage(of: groups) { page in
            all += page.filter { listing in
                cursor?.isBefore(listing) ?? true && tests.allSatisfy { $0(listing) }
            }
        }
        return all.page(by: order, limit: limit)
    }

    /// Returns a page of listings. The indexes of variants do not count, so that a page that is not full is the last.
    private func page(
        _ groups: [[CacheSelection]], by order: CacheOrder, after cursor: CacheCursor?, limit: Int
    ) throws(CacheError) -> [CacheListing] {
        var listings: [CacheListing] = []
        var cursor = cursor
        while listings.count < limit {
            let records = try list(groups, by: order, after: cursor, limit: limit)
            listings += records.compactMap(coding.listing)
            guard records.count == limit, let last = records.last else { break }
            cursor = CacheCursor(after: last, by: order)
        }
        return Array(listings.prefix(limit))
    }

    private func forEachPage(
        of groups: [[CacheSelection]] = [], _ body: ([CacheListing]) -> Void
    ) throws(CacheError) {
        var cursor: CacheCursor?
        while true {
            let page = try page(groups, by: .newest, after: cursor, limit: Self.pageSize)
            body(page)
            guard page.count == Self.pageSize, let last = page.last else { return }
            cursor = CacheCursor(after: last, by: .newest)
        }
    }

    func count(_ selections: [CacheSelection], onlyValid: Bool) throws(CacheError) -> Int {
        let parts = try parts(of: selections)
        return try wait(within: Self.queryLimit) { (base) async throws(CacheError) in
            try await base.count(parts, onlyValid: onlyValid)
        }
    }

    func totals() throws(CacheError) -> CacheTotals {
        try wait(within: Self.queryLimit) { (base) async throws(CacheError) in try await base.totals() }
    }

    func statistics(from hour: Int64) -> [CacheCounts] { [] }

    func canonicalForm(of key: RequestKey) throws(CacheError) -> String? {
        let record = try records(under: key, bodyLimit: 0).first { $0.key == key }
        return record.flatMap(coding.request).map { String(decoding: $0.form, as: UTF8.self) }
    }

    // MARK: Selections

    /// Returns the selections by which the server knows the records of some selections.
    private func parts(of selections: [CacheSelection]) throws(CacheError) -> [CacheSelection] {
        var parts: [CacheSelection] = []
        for selection in selections {
            if case .key(let key) = selection.criterion {
                parts.append(selection)
                parts += coding.alternatives(to: .variants(of: key))
            } else if coding.sealing != nil, let test = selection.urlTest {
                var keys: Set<RequestKey> = []
                try forEachPage { page in keys.formUnion(page.filter(test).map(\.key)) }
                parts += CacheSelection.groups(of: Array(keys))
            } else {
                parts += coding.alternatives(to: selection)
            }
        }
        return parts
    }
}

extension CacheRecord {
    /// Whether it was read without its chunks, because its body is large.
    fileprivate var lacksChunks: Bool { chunks.isEmpty && chunkCount > 0 }
}

/// Runs tasks on the system's threads, also while all threads of the cooperative pool wait.
private final class QueueExecutor: TaskExecutor {
    private let queue = DispatchQueue(label: "diamond.cache.server", attributes: .concurrent)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
