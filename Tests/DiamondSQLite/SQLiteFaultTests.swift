import DiamondTestSupport
import Foundation
import Testing

@testable import DiamondSQLite

@Suite("A database on a failing disk") struct SQLiteFaultTests {
    /// The disk calls that a fault can strike. The quick tier tries one in 24, others in each run.
    private func calls(_ fault: FaultDisk.Fault, _ script: FaultScript = FaultScript()) -> StrideThrough<Int> {
        var script = script
        script.run()
        #expect(script.errors.isEmpty && script.committed.count == FaultScript.transactions.count)
        let count = script.disk.calls(fitting: fault)
        #expect(count > 0)
        return Effort.places(to: count, oneIn: 24)
    }

    /// Checks that no committed row is missing, and that no other row is there.
    private func check(_ script: FaultScript, _ place: String) throws {
        let (rows, integrity) = try script.left()
        #expect(integrity == "ok", "\(place)")
        let allowed = [[]] + script.uncertain.map { [$0] }
        #expect(
            allowed.contains { FaultScript.rows(after: script.committed + $0) == rows },
            "\(place): \(rows.map(\.a)) after \(script.committed)"
        )
    }

    /// Checks that all errors are the disk's.
    private func checkErrors(_ script: FaultScript, _ place: String) {
        let known: Set<SQLiteError.Code> = [.full, .ioError, .cannotOpen]
        for error in script.errors { #expect(known.contains(error.code.primary), "\(place): \(error)") }
    }

    @Test(arguments: FaultDisk.Fault.survivable)
    func `a database loses at most the transaction during which the disk fails`(fault: FaultDisk.Fault) throws {
        for call in calls(fault) {
            var script = FaultScript()
            script.disk.fail(fault, atCall: call)
            script.run()
            // A file that could not be opened works the next time.
            if script.database == nil { script.run() }
            script.disk.heal()
            #expect(script.errors.count <= 1, "\(call): \(script.errors)")
            #expect(try script.found() == FaultScript.rows(after: script.committed), "\(call)")
            checkErrors(script, "\(call)")
            try script.close()
            try check(script, "\(call)")
        }
    }

    @Test(arguments: FaultDisk.Fault.survivable)
    func `a database works again after a lasting fault has ended`(fault: FaultDisk.Fault) throws {
        for call in calls(fault) {
            var script = FaultScript()
            script.disk.fail(fault, atCall: call, lasting: true)
            script.run()
            checkErrors(script, "\(call)")
            script.disk.heal()
            let failures = script.errors.count
            script.run(20..<21)
            #expect(script.errors.count == failures && script.database != nil, "\(call): \(script.errors)")
            try script.close()
            try check(script, "\(call)")
        }
    }

    @Test(arguments: FaultDisk.Fault.survivable)
    func `a database keeps its commits when the process ends during a lasting fault`(fault: FaultDisk.Fault) throws {
        for call in calls(fault) {
            var script = FaultScript()
            script.disk.fail(fault, atCall: call, lasting: true)
            script.run()
            try script.close()
            try check(script, "\(call)")
        }
    }

    @Test(arguments: [SQLiteConfiguration.Synchronous.normal, .full], [false, true])
    func `a database after a power failure has the state that one of its transactions left`(
        synchronous: SQLiteConfiguration.Synchronous,
        keepsSome: Bool
    ) throws {
        for call in calls(.powerLoss, FaultScript(synchronous: synchronous)) {
            let seed = keepsSome ? Effort.seed &+ UInt64(call) : nil
            var script = FaultScript(synchronous: synchronous)
            script.disk.fail(.powerLoss, atCall: call)
            script.run()
            script.disk.fail(.powerLoss, atCall: 1)
            try script.close()
            try script.disk.cutPower(seed: seed)
            let (rows, integrity) = try script.left()
            #expect(integrity == "ok", "\(call), seed \(Effort.seed)")
            let promised = script.committed.count
            let allowed = (synchronous == .full ? promised : 0)...min(promised + 1, FaultScript.transactions.count)
            #expect(
                allowed.contains { FaultScript.rows(after: 0..<$0) == rows },
                "\(call), seed \(Effort.seed): \(rows.map(\.a)) after \(promised) transactions"
            )
        }
    }

    @Test(arguments: [SQLiteConfiguration.Synchronous.normal, .full])
    func `a database can be opened after a power failure during its creation`(
        synchronous: SQLiteConfiguration.Synchronous
    ) throws {
        var whole = FaultScript(synchronous: synchronous)
        whole.run(0..<0)
        // With the seed 47, the header of a rollback journal reaches the disk without its pages, as in one of 30 cases.
        let random = (0..<UInt64(Effort.rounds(3, soaking: 1000))).map { Effort.seed &+ $0 }
        for call in 1...whole.disk.calls(fitting: .powerLoss) {
            for seed in [47] + random {
                var script = FaultScript(synchronous: synchronous)
                script.disk.fail(.powerLoss, atCall: call)
                script.run(0..<0)
                try script.close()
                try script.disk.cutPower(seed: seed)
                let place = "\(call), seed \(seed)"
                #expect(throws: Never.self, "\(place)") {
                    let (rows, integrity) = try script.left()
                    #expect(integrity == "ok" && rows.isEmpty, "\(place)")
                }
            }
        }
    }
}
