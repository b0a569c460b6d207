import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

/// A queue in SQLite, in a directory of its own. Its clocks do not follow the machine's, which may be slow: a check
/// moves them, and each reading takes a millisecond.
private final class SQLitePlace: ReplayStorageSuite.Place {
    private let temporary = TemporaryStore()
    private let seal: (any CacheSeal)?
    /// The time since the start, in milliseconds.
    private let time = Guarded(Int64(0))
    private let start = (wall: WallTime.now, uptime: Uptime.now)

    init(sealed isSealed: Bool) { seal = isSealed ? AESGCMSeal.first : nil }

    func open() async throws -> any ReplayStorage {
        var clock = ReplayClock.system
        let next: @Sendable () -> Int64 = { [time] in
            time.withLock { time in
                time += 1
                return time
            }
        }
        clock.now = { [start] in start.wall + next() }
        clock.uptime = { [start] in start.uptime + next() }
        return try SQLiteReplayStorage(temporary.store, seal: seal, clock: clock, create: true, seals: true)
    }

    func advance(by duration: Duration) async throws { time.withLock { $0 += duration.milliseconds } }
}

@Suite("The contract of a queue's storage", .limit(minutes: 5)) struct ReplayStorageSuiteTests {
    @Test(arguments: ReplayStorageSuite.Check.all)
    func `SQLite keeps the contract`(_ check: ReplayStorageSuite.Check) async {
        #expect(await ReplayStorageSuite { SQLitePlace(sealed: false) }.failure(of: check) == nil)
    }

    @Test(arguments: ReplayStorageSuite.Check.all)
    func `SQLite keeps the contract with a seal`(_ check: ReplayStorageSuite.Check) async {
        #expect(await ReplayStorageSuite { SQLitePlace(sealed: true) }.failure(of: check) == nil)
    }

    @Test(arguments: FaultyStorage.Fault.allCases)
    func `a storage that breaks a rule is found`(_ fault: FaultyStorage.Fault) async throws {
        let check = try #require(ReplayStorageSuite.Check.all.first { $0.description.hasPrefix(fault.rawValue) })
        #expect(await ReplayStorageSuite { FaultyStorage.Place(fault: fault) }.failure(of: check) != nil)
    }

    @Test func `a storage whose clock stands still, or whose processes share nothing, breaks the contract`() async {
        let still = await ReplayStorageSuite { FaultyPlace(moves: false, shares: true) }.failures()
        for part in ["a lease ends", "a delayed job waits", "has expired is not sent", "with an old token"] {
            #expect(still.contains { $0.contains(part) }, "\(part)")
        }
        let apart = await ReplayStorageSuite { FaultyPlace(moves: true, shares: false) }.failures()
        for part in ["is there for all instances", "a key has one running job", "by no process", "a watch is told"] {
            #expect(apart.contains { $0.contains(part) }, "\(part)")
        }
    }
}

/// A place that breaks a rule.
private struct FaultyPlace: ReplayStorageSuite.Place {
    /// Whether its clock moves.
    let moves: Bool
    /// Whether its instances have the same jobs.
    let shares: Bool
    private let places = Guarded([SQLitePlace(sealed: false)])

    init(moves: Bool, shares: Bool) {
        self.moves = moves
        self.shares = shares
    }

    func open() async throws -> any ReplayStorage {
        let place = places.withLock { [shares] places in
            if !shares { places.append(SQLitePlace(sealed: false)) }
            return places[places.count - 1]
        }
        return try await place.open()
    }

    func advance(by duration: Duration) async throws {
        guard moves else { return }
        for place in places.withLock({ $0 }) { try await place.advance(by: duration) }
    }
}

/// A storage that breaks one rule.
final class FaultyStorage: ReplayStorageWrapper {
    /// A fault, and a part of the rule that it breaks.
    enum Fault: String, CaseIterable {
        case beginsAlways = "a claim with an old token"
        case forgetsIDs = "an entry with ids that is repeated"
        case addsUnwanted = "jobs that are not wanted"
        case claimsAgain = "jobs are claimed by priority"
        case ignoresSelections = "only jobs of the selected"
        case renewsDead = "a lease ends"
        case keepsJobs = "the jobs of an owner that leaves"
        case forgetsFailures = "a failure is in the history"
        case actsInDryRuns = "a dry run"
        case reportsNothing = "an instance reports"
    }

    let base: any ReplayStorage
    private let fault: Fault
    private let claims = Guarded<ReplayClaims?>(nil)

    init(_ base: any ReplayStorage, _ fault: Fault) {
        self.base = base
        self.fault = fault
    }

    func observe(_ report: @escaping @Sendable (ReplayCommit) -> Void) {
        if fault != .reportsNothing { base.observe(report) }
    }

    func enqueue(
        _ entry: ReplayEntry, isWanted: (@Sendable ([ReplayJob.ID?]) -> Bool)?
    ) async throws(ReplayError) -> ReplayEnqueued {
        var entry = entry
        if fault == .forgetsIDs { entry.ids = nil }
        return try await base.enqueue(entry, isWanted: fault == .addsUnwanted ? nil : isWanted)
    }

    func claim(
        _ limit: Int, _ selection: ReplaySelection, by owner: ReplayOwnerRecord.ID
    ) async throws(ReplayError) -> ReplayClaims? {
        let selection = fault == .ignoresSelections ? ReplaySelection() : selection
        let found = try await base.claim(limit, selection, by: owner)
        guard fault == .claimsAgain else { return found }
        return claims.withLock { claims in
            if found?.jobs.isEmpty == false { claims = found }
            return claims
        }
    }

    func begin(
        _ claim: ReplayClaim, _ start: ReplayStart, by owner: ReplayOwnerRecord.ID
    ) async throws(ReplayError) -> Bool {
        let hasBegun = try await base.begin(claim, start, by: owner)
        return hasBegun || fault == .beginsAlways
    }

    func renew(
        _ owner: ReplayOwnerRecord.ID, lease: Int64, isSuspended: Bool
    ) async throws(ReplayError) -> Bool {
        let isAlive = try await base.renew(owner, lease: lease, isSuspended: isSuspended)
        return isAlive || fault == .renewsDead
    }

    func unregister(_ owner: ReplayOwnerRecord.ID) async throws(ReplayError) {
        if fault != .keepsJobs { try await base.unregister(owner) }
    }

    func failures(of id: ReplayJob.ID) throws(ReplayError) -> [ReplayFailure] {
        fault == .forgetsFailures ? [] : try base.failures(of: id)
    }

    func apply(
        _ action: ReplayAction, to ids: [ReplayJob.ID], isDryRun: Bool
    ) async throws(ReplayError) -> [ReplayEffect] {
        try await base.apply(action, to: ids, isDryRun: isDryRun && fault != .actsInDryRuns)
    }

    struct Place: ReplayStorageSuite.Place {
        let fault: Fault
        private let place = SQLitePlace(sealed: false)

        init(fault: Fault) { self.fault = fault }

        func open() async throws -> any ReplayStorage { FaultyStorage(try await place.open(), fault) }
        func advance(by duration: Duration) async throws { try await place.advance(by: duration) }
    }
}
