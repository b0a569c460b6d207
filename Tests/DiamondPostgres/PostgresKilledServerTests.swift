#if Postgres && canImport(CDiamondPostgres)
import Diamond
import DiamondPostgres
import DiamondTestSupport
import Foundation
import Testing

/// Kills the whole server, which other tests cannot use meanwhile.
@Suite(
    "A killed PostgreSQL server",
    .enabled(if: Effort.hasFleet && Effort.isAlone, "kills the server: scripts/fleet runs it alone"), .serialized,
    .limit(minutes: 5, soaking: 60)) struct PostgresKilledServerTests
{
    @Test func `a server that is killed in a burst of jobs loses, repeats and reorders none`() async throws {
        let place = try await PostgresPlace()
        let (adding, sending) = (try await place.storage(), try await place.storage())
        let effects = PostgresEffects()
        let lines = ["a", "b", "c", "d"]
        let rounds = Effort.rounds(2, soaking: 30)
        let count = 60 * rounds
        try await effects.sending(sending) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for line in lines {
                    group.addTask { try await PostgresEffects.add(count, to: line, of: adding) }
                }
                for round in 1...rounds {
                    await untilTrue { effects.paths.count >= 40 * lines.count * round }
                    try await PostgresServer.kill()
                }
                try await group.waitForAll()
            }
            try await PostgresEffects.waitForEnd(of: count * lines.count, in: adding)
        }
        effects.expectSound(count, lines: lines)
        #expect(try await adding.check() == [])
    }
}
#endif
