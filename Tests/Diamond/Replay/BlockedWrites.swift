import DiamondSQLite
import DiamondTestSupport
import Foundation

@testable import Diamond

/// Begins a write transaction on a queue's file that lasts until the test ends it.
///
/// It uses a connection of its own: one of the queue's would block callers that write on their own threads, of which
/// tests have few.
func holdWrites(to queue: ReplayQueue, _ isHeld: Gate, _ mayEnd: DispatchSemaphore) {
    Thread {
        let database = try? SQLiteDatabase(path: queue.store.replayPath, configuration: queue.store.replaySchema)
        try? database?.write { (_) throws(SQLiteError) in
            isHeld.open()
            mayEnd.wait()
        }
    }.start()
}
