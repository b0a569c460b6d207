import DiamondSQLite
import DiamondTestSupport
import Foundation

@testable import Diamond

/// Begins a write to a queue's file that does not come to its end before it is told to.
///
/// By a connection of its own: as one of the queue's, it would hold up those who write on their own threads, which tests
/// have few of.
func holdWrites(to queue: ReplayQueue, _ isHeld: Gate, _ mayEnd: DispatchSemaphore) {
    Thread {
        let database = try? SQLiteDatabase(path: queue.store.replayPath, configuration: queue.store.replaySchema)
        try? database?.write { (_) throws(SQLiteError) in
            isHeld.open()
            mayEnd.wait()
        }
    }.start()
}
