import DiamondSQLite
import DiamondTestSupport
import DiamondTesting
import Foundation
import Testing

@testable import Diamond

/// A queue in SQLite, in a directory of its own, whose clocks a check moves.
private final class SQLitePlace: ReplayStorageSuite.Place {
    private let temporary = TemporaryStore()
    private let seal: (any CacheSeal)?
    /// The time by which the clocks are ahead, in milliseconds.
    private let offset = Guarded(Int64(0))

    init(sealed isSealed: Bool) { seal = isSealed ? AESGCMSeal.first : nil }

    func open() async throws -> any ReplayStorage {
        var clock = ReplayClock.system
        clock.now = { [offset] in .now + offset.withLock { $0 } }
        clock.uptime = { [offset] in .now + offset.withLock { $0 } }
        return try SQLiteReplayStorage(temporary.store, seal: seal, clock: clock, create: true, seals: true)
    }

    func advance(by duration: Duration) async throws { offset.withLock { $0 += duration.milliseconds } }
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

    @Test func `a storage whose clock stands still, or whose processes share nothing, breaks the contract`() async {
        let still = await ReplayStorageSuite { FaultyPlace(moves: false, shares: true) }.failures()
        for part in ["a lease ends", "a delayed job waits", "has expired is not sent", "with an old token"] {
            #expect(still.contains { $0.contains(part) }, "\(part)")
        }
        let apart = await ReplayStorageSuite { FaultyPlace(moves: true, shares: false) }.failures()
        for part in ["is there for all instances", "no second job of a key", "by no process", "a watch is told"] {
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
    private let place = SQLitePlace(sealed: false)

    init(moves: Bool, shares: Bool) {
        self.moves = moves
        self.shares = shares
    }

    func open() async throws -> any ReplayStorage {
        try await (shares ? place : SQLitePlace(sealed: false)).open()
    }

    func advance(by duration: Duration) async throws { if moves { try await place.advance(by: duration) } }
}
